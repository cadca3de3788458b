package funcs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// KilledMidway applies manifests, and kills the operator with SIGKILL as soon as
// an agent is about to be loaded in the first of so many pods.
func (s *Suite) KilledMidway(namespace string, pods int, files ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		operator, err := c.operator(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			objects, err := read(file, namespace)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				if err := c.apply(ctx, object, fieldManager, namespace); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.firstIntent(ctx, t, namespace)
		if err := c.kill(ctx, *operator, "manager"); err != nil {
			t.Fatal(err)
		}
		s.kills++
		done, phases := 0, map[v1alpha1.Phase]int{}
		records, err := c.records(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			phases[r.Status.Phase]++
			if r.Status.Phase == v1alpha1.PhaseAnnotated {
				done++
			}
		}
		t.Logf("when the operator was killed the pods were %v", phases)
		if done == pods {
			t.Fatal("the operator was killed too late to prove anything")
		}
		eventually(ctx, t, func(ctx context.Context) error {
			var now corev1.Pod
			if err := c.Get(ctx, client.ObjectKeyFromObject(operator), &now); err != nil {
				return err
			}
			if restarts(now) != restarts(*operator)+1 {
				return fmt.Errorf("the operator was restarted %d times, before %d", restarts(now), restarts(*operator))
			}
			return nil
		})
	})
}

// firstIntent waits for the first record that says that a load is about to happen.
func (c *cluster) firstIntent(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	err := wait.For(func(ctx context.Context) (bool, error) {
		records, err := c.records(ctx, namespace)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(records, func(r v1alpha1.JmxAttachment) bool {
			return len(r.Status.Processes) > 0 && r.Status.Processes[0].Intent != nil
		}), nil
	}, wait.WithContext(ctx), wait.WithTimeout(patience), wait.WithInterval(20*time.Millisecond), wait.WithImmediate())
	if err != nil {
		t.Fatalf("no load was begun: %v", err)
	}
}

// WithoutRight takes a resource out of the operator's ClusterRole until the
// feature ends or Restored runs. It belongs into a Setup.
func (s *Suite) WithoutRight(resource string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		role := s.clusterRole(ctx, t)
		rules, _, err := unstructured.NestedSlice(role.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(slices.Clone(rules), func(rule any) bool {
			resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			return slices.Contains(resources, resource)
		})
		if len(left) != len(rules)-1 {
			t.Fatalf("the ClusterRole has not one rule for %s: %v", resource, rules)
		}
		if err := unstructured.SetNestedSlice(role.Object, left, "rules"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.restore(context.WithoutCancel(ctx), t, c) })
		if err := c.apply(ctx, role, kubectl, ""); err != nil {
			t.Fatal(err)
		}
	})
}

// Restored gives the operator all of its rights again.
func (s *Suite) Restored() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) { t.Helper(); s.restore(ctx, t, c) })
}

func (s *Suite) restore(ctx context.Context, t *testing.T, c *cluster) {
	t.Helper()
	if err := c.apply(ctx, s.clusterRole(ctx, t), kubectl, ""); err != nil {
		t.Fatal(err)
	}
}

func (s *Suite) clusterRole(ctx context.Context, t *testing.T) *unstructured.Unstructured {
	t.Helper()
	objects, err := s.build(ctx, "config/default")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ClusterRole" && o.GetName() == operatorName
	})
	if i < 0 {
		t.Fatal("config/default has no ClusterRole " + operatorName)
	}
	return objects[i]
}

// asOperator is the operator's own way to the API.
func (c *cluster) asOperator() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = operatorUser
	return config
}

// ExecRefused waits until the operator's execs into the namespace are refused, with these words.
func ExecRefused(namespace, words string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return errors.New("no pod is there")
			}
			_, err = execAs(ctx, c.asOperator(), namespace, pods[0].Name, pods[0].Spec.Containers[0].Name, "true")
			return refusedWith(err, words)
		})
	})
}

// AnnotationRefused waits until the operator's writes to pods of the namespace are refused, with these words.
func AnnotationRefused(namespace, words string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		operator, err := client.New(c.asOperator(), client.Options{Scheme: c.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return errors.New("no pod is there")
			}
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"try":"out"}}}`))
			return refusedWith(operator.Patch(ctx, &pods[0], patch, client.DryRunAll), words)
		})
	})
}

func refusedWith(err error, words string) error {
	if err == nil || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("not refused with %q yet, but %w", words, outcome(err))
	}
	return nil
}

func outcome(err error) error {
	if err == nil {
		return errors.New("allowed")
	}
	return err
}

// Scaled scales the operator of config/default until the feature ends. It
// belongs into a Setup.
func (s *Suite) Scaled(replicas int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pod, err := c.operator(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := restarts(*pod) - s.restartsBefore; string(pod.UID) != s.operatorUID || n != s.kills {
			t.Errorf("the operator was restarted %d times, killed %d times: %+v", n, s.kills, pod.Status.ContainerStatuses)
		}
		t.Cleanup(func() {
			ctx := context.WithoutCancel(ctx)
			if err := c.scale(ctx, OperatorNamespace, 1); err != nil {
				t.Fatal(err)
			}
			pod, err := c.operator(ctx)
			if err != nil {
				t.Fatal(err)
			}
			s.operatorUID, s.restartsBefore, s.kills = string(pod.UID), restarts(*pod), 0
		})
		if err := c.scale(ctx, OperatorNamespace, replicas); err != nil {
			t.Fatal(err)
		}
	})
}

func (c *cluster) scale(ctx context.Context, namespace string, replicas int32) error {
	var d appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorName}, &d); err != nil {
		return err
	}
	base := d.DeepCopy()
	d.Spec.Replicas = new(replicas)
	if err := c.Patch(ctx, &d, client.MergeFrom(base)); err != nil {
		return err
	}
	return c.operatorReady(ctx, namespace)
}

// Deployed deploys a kustomization of the operator into a namespace, and waits for it.
func (s *Suite) Deployed(kustomization, namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := s.applyOperator(ctx, c, kustomization, namespace); err != nil {
			t.Fatal(err)
		}
		if err := c.operatorReady(ctx, namespace); err != nil {
			t.Fatal(err)
		}
	})
}

// Restricted asserts that the operator's namespace enforces the restricted Pod
// Security Standard, and that the operator runs in it all the same.
func Restricted() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var namespace corev1.Namespace
		if err := c.Get(ctx, client.ObjectKey{Name: OperatorNamespace}, &namespace); err != nil {
			t.Fatal(err)
		}
		if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
			t.Errorf("namespace %s enforces %q, not restricted", namespace.Name, level)
		}
		if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
			t.Error(err)
		}
		operator, err := c.operator(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// What would run here with more than that is refused: the label counts.
		more := operator.DeepCopy()
		more.ObjectMeta = namespaceOnly(operator)
		more.Spec.NodeName = ""
		more.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		if err := c.Create(ctx, more, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("a pod with privilege escalation is not refused: %v", err)
		}
		same := operator.DeepCopy()
		same.ObjectMeta = namespaceOnly(operator)
		same.Spec.NodeName = ""
		if err := c.Create(ctx, same, client.DryRunAll); err != nil {
			t.Errorf("the operator's own pod is refused: %v", err)
		}
	})
}

func namespaceOnly(pod *corev1.Pod) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: "try-"}
}

// Untended asserts that no operator has said anything about an exporter.
func Untended(namespace, exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var e v1alpha1.PrometheusJmxExporter
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
			t.Fatal(err)
		}
		records, err := c.records(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if e.Status.ObservedGeneration != 0 || len(records) > 0 {
			t.Fatalf("an operator has looked at exporter %s: %+v", exporter, e.Status)
		}
	})
}

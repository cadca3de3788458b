package funcs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The operator of config/default.
const (
	OperatorNamespace = "jmx-exporter-system"
	operatorName      = "jmx-exporter-operator"
	operatorKey       = "app.kubernetes.io/name"
	operatorLabel     = operatorKey + "=" + operatorName
	operatorUser      = "system:serviceaccount:" + OperatorNamespace + ":" + operatorName
	// imageAnnotation tells which image the Deployment runs: its name is always
	// the same. hack/demo/demo keeps it too.
	imageAnnotation = "demo-image"
	// kubectl is who applies the operator elsewhere; so nobody has to take
	// fields over from the tests.
	kubectl = client.FieldOwner("kubectl")
)

// applyOperator applies a kustomization of the operator, the CRDs first and when
// they are established the rest.
func (s *Suite) applyOperator(ctx context.Context, c *cluster, kustomization, namespace string) error {
	objects, err := s.build(ctx, kustomization)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := askedEverySecond(object); err != nil {
			return err
		}
		if err := c.apply(ctx, object, kubectl, namespace); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return await(ctx, patience, func(ctx context.Context) error {
		return errors.Join(c.List(ctx, &v1alpha1.JmxAttachmentList{}), c.List(ctx, &v1alpha1.PrometheusJmxExporterList{}))
	})
}

// askedEverySecond has the kubelet ask the operator once a second whether it is ready: it
// starts within one, and the features wait for it.
func askedEverySecond(object *unstructured.Unstructured) error {
	containers, ok, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || !ok {
		return err
	}
	for _, container := range containers {
		if container.(map[string]any)["readinessProbe"] == nil { // a node agent's
			continue
		}
		if err := unstructured.SetNestedField(container.(map[string]any), int64(1), "readinessProbe", "periodSeconds"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
}

// useImage restarts the operator if it runs another image than was loaded.
func (s *Suite) useImage(ctx context.Context, c *cluster) error {
	if s.kindName == "" {
		return nil
	}
	id, err := s.output(ctx, "hack/images", "id", "jmx-exporter-operator:dev")
	if err != nil {
		return err
	}
	id = strings.TrimSpace(id)
	return c.changeOperator(ctx, OperatorNamespace, func(d *appsv1.Deployment) {
		if d.Annotations[imageAnnotation] == id {
			return
		}
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, imageAnnotation, id)
		if s.hadOperator {
			metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "kubectl.kubernetes.io/restartedAt", time.Now().Format(time.RFC3339))
		}
	})
}

// changeOperator changes the Deployment of an operator.
func (c *cluster) changeOperator(ctx context.Context, namespace string, change func(*appsv1.Deployment)) error {
	return await(ctx, patience, func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorName}, &d); err != nil {
			return err
		}
		base := d.DeepCopy()
		change(&d)
		return c.Client.Patch(ctx, &d, client.MergeFrom(base), kubectl)
	})
}

// operatorReady waits until the operator of a namespace is there as last applied.
func (c *cluster) operatorReady(ctx context.Context, namespace string) error {
	return await(ctx, patience, func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorName}, &d); err != nil {
			return err
		}
		want := *d.Spec.Replicas
		if s := d.Status; s.ObservedGeneration != d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
			return fmt.Errorf("the operator in %s is not rolled out: %+v", namespace, d.Status)
		}
		// Those that are about to go still work.
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{operatorKey: operatorName}); err != nil {
			return err
		}
		if len(pods.Items) != int(want) {
			return fmt.Errorf("%d operators are in %s, not %d", len(pods.Items), namespace, want)
		}
		return nil
	})
}

// operator is the pod of the operator of config/default.
func (c *cluster) operator(ctx context.Context) (*corev1.Pod, error) {
	pods, err := c.pods(ctx, OperatorNamespace, operatorLabel)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("%d operators are in %s, not one", len(pods), OperatorNamespace)
	}
	return &pods[0], nil
}

// theOperator waits for it.
func (c *cluster) theOperator(ctx context.Context, t *testing.T) *corev1.Pod {
	t.Helper()
	return answer(ctx, t, c.operator)
}

// survived reports whether the operator ran through, but for the times that it
// was killed by a feature.
func (s *Suite) survived(ctx context.Context, c *cluster) error {
	if s.operatorUID == "" {
		return nil
	}
	var pod *corev1.Pod
	if err := await(ctx, patience, func(ctx context.Context) (err error) {
		pod, err = c.operator(ctx)
		return err
	}); err != nil {
		return err
	}
	if string(pod.UID) != s.operatorUID {
		return nil
	}
	return s.ranThrough(ctx, c, pod)
}

// ranThrough reports whether an operator was restarted only as often as features
// killed it. Once more is as designed where it says that it lost its lease: on a
// machine that stood still for ten seconds, say.
func (s *Suite) ranThrough(ctx context.Context, c *cluster, operator *corev1.Pod) error {
	n := restarts(*operator) - s.restartsBefore
	if n == s.kills {
		return nil
	}
	var log string
	err := await(ctx, time.Minute, func(ctx context.Context) (err error) {
		log, err = c.previousLog(ctx, operator, "manager", 20)
		return err
	})
	if n == s.kills+1 && err == nil && strings.Contains(log, "leader election lost") {
		return nil
	}
	return errors.Join(err, fmt.Errorf("the operator was restarted %d times, killed %d times: %+v\n%s", n, s.kills, operator.Status.ContainerStatuses, log))
}

// assertRanThrough asserts that of the operator that is about to be replaced.
func (s *Suite) assertRanThrough(ctx context.Context, t *testing.T, c *cluster) {
	t.Helper()
	pod := c.theOperator(ctx, t)
	if string(pod.UID) != s.operatorUID {
		t.Errorf("the operator is another one: %s", pod.Name)
	} else if err := s.ranThrough(ctx, c, pod); err != nil {
		t.Error(err)
	}
}

// acquainted makes the operator that runs now the one that must not restart.
func (s *Suite) acquainted(ctx context.Context, c *cluster) error {
	return await(ctx, patience, func(ctx context.Context) error {
		pod, err := c.operator(ctx)
		if err == nil {
			s.acquaint(pod)
		}
		return err
	})
}

func (s *Suite) acquaint(operator *corev1.Pod) {
	s.operatorUID, s.restartsBefore, s.kills = string(operator.UID), restarts(*operator), 0
}

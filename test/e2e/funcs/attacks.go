package funcs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// as returns a way to the API of a user.
func (c *cluster) as(t *testing.T, user string) client.Client {
	t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = user
	as, err := client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// RefusedByUser has a user apply a manifest, and waits until the API server refuses it with
// these words: at first, the user may have no right.
func RefusedByUser(user, namespace, file, words string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		as := c.as(t, user)
		if err := eachObject(namespace, []string{file}, func(object *unstructured.Unstructured) error {
			return await(ctx, patience, func(ctx context.Context) error {
				if err := c.place(object, namespace); err != nil {
					return err
				}
				return refusedWith(as.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner(user)), words)
			})
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// ForgeAnnotations has a user give each pod the annotations that the operator gives one that it
// attached to, under the name of its field manager: those that everybody may set are set, and
// that of the record is refused.
func ForgeAnnotations(user, namespace string) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		as := c.as(t, user)
		annotate := func(annotations map[string]string) error {
			return as.Apply(ctx, corev1ac.Pod(pod.Name, namespace).WithUID(pod.UID).WithAnnotations(annotations),
				client.FieldOwner("jmx-exporter-operator/pod-annotations"))
		}
		forged := map[string]string{v1alpha1.AnnotationScrape: "true", v1alpha1.AnnotationPort: "9400"}
		eventually(ctx, t, func(context.Context) error { return annotate(forged) })
		forged[v1alpha1.AnnotationFlag] = selection.AttachmentName(pod)
		if err := refusedByPolicy(annotate(forged)); err != nil {
			t.Errorf("the annotation %s: %v", v1alpha1.AnnotationFlag, err)
		}
	})
}

// ForgeSlice has a user publish each pod in an EndpointSlice like those of the exporter.
func ForgeSlice(user, namespace, exporter string) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		e := answer(ctx, t, func(ctx context.Context) (*v1alpha1.PrometheusJmxExporter, error) {
			return c.exporter(ctx, namespace, exporter)
		})
		port := e.Spec.Port
		if err := c.as(t, user).Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("%s-%d-ipv4-1", selection.ServiceName(e), port),
				Labels: map[string]string{v1alpha1.LabelExporterUID: string(e.UID), discoveryv1.LabelServiceName: selection.ServiceName(e)},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: v1alpha1.GroupVersion.String(), Kind: "PrometheusJmxExporter", Name: e.Name, UID: e.UID, Controller: new(true),
				}},
			},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("metrics"), Port: &port}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{pod.Status.PodIP},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			}},
		}); err != nil {
			t.Error(err)
		}
	})
}

// NoExec asserts by the audit log that the operator has executed nothing in a namespace.
func NoExec(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		execs := answer(ctx, t, func(ctx context.Context) (execs int, _ error) {
			found, err := c.audit(ctx, func(e auditEvent) {
				if e.resource() == "pods/exec" && e.ObjectRef.Namespace == namespace {
					execs++
				}
			})
			if err == nil && !found {
				err = errors.New("the API server writes no audit log (kind-config.yaml)")
			}
			return execs, err
		})
		if execs > 0 {
			t.Errorf("the operator executed %d commands in pods of namespace %s", execs, namespace)
		}
	})
}

// doorFields are fields of an ephemeral container of the operator's that it never sets, or
// always to the same value.
var doorFields = map[string]func(*corev1.EphemeralContainer){
	"terminationMessagePath": func(c *corev1.EphemeralContainer) { c.TerminationMessagePath = "/tmp/message" },
	"terminationMessagePolicy": func(c *corev1.EphemeralContainer) {
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	},
	"imagePullPolicy": func(c *corev1.EphemeralContainer) { c.ImagePullPolicy = corev1.PullAlways },
	"stdinOnce":       func(c *corev1.EphemeralContainer) { c.Stdin, c.StdinOnce = true, true },
	"tty":             func(c *corev1.EphemeralContainer) { c.TTY = true },
}

// ContainerPinned has somebody with the token of the operator's pod add an ephemeral container like
// the one that is there, which is admitted, and with one field changed, which is refused.
func ContainerPinned(namespace string) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		operator := c.theOperator(ctx, t)
		thief := answer(ctx, t, func(ctx context.Context) (*rest.Config, error) { return c.steal(ctx, operator) })
		as, err := client.New(thief, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		if len(pod.Spec.EphemeralContainers) == 0 {
			t.Fatalf("pod %s has no ephemeral container", pod.Name)
		}
		add := func(change func(*corev1.EphemeralContainer)) error {
			with, added := pod.DeepCopy(), pod.Spec.EphemeralContainers[0].DeepCopy()
			added.Name = added.Name[:strings.LastIndex(added.Name, "-")] + "-99"
			change(added)
			with.Spec.EphemeralContainers = append(with.Spec.EphemeralContainers, *added)
			return as.SubResource("ephemeralcontainers").Patch(ctx, with, client.MergeFrom(pod),
				&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
		}
		if err := add(func(*corev1.EphemeralContainer) {}); err != nil {
			t.Fatalf("what the operator does is refused: %v", err)
		}
		for field, change := range doorFields {
			if err := refusedByPolicy(add(change)); err != nil {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}

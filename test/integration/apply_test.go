package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

var ours = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9400"}

// writer returns the writers of pkg/apply, without an operator.
func writer() *records.Writer { return records.New(apply.New(admin, effects.Direct)) }

// Applying the same content twice does not change a resourceVersion.
func TestApplyTwice(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := c.run(aPod("app-0"))
	e := c.export("exporter")
	w := writer()
	name := selection.AttachmentName(pod)
	if _, err := w.Attachment(t.Context(), "", name, pod, e, "revision"); err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(c.clock.Now())
	conditions := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reached", LastTransitionTime: now}}
	writes := map[string]func() error{
		"annotations": func() error { return w.PodAnnotations(t.Context(), pod, ours) },
		"attachment":  func() error { _, err := w.Attachment(t.Context(), "", name, pod, e, "revision"); return err },
		"attachment status": func() error {
			// Read again: the first write after the create also stores the defaults of the schema.
			return w.AttachmentStatus(t.Context(), c.attachment(pod), &v1alpha1.JmxAttachmentStatus{Phase: "Annotated", Conditions: conditions})
		},
		"exporter status": func() error {
			return w.ExporterStatus(t.Context(), e, &v1alpha1.PrometheusJmxExporterStatus{Phase: "Annotated", Conditions: conditions})
		},
		"Service": func() error {
			return w.Service(t.Context(), corev1ac.Service("service", c.namespace).
				WithSpec(corev1ac.ServiceSpec().WithClusterIP("None").WithPorts(corev1ac.ServicePort().WithName("metrics").WithPort(9400))))
		},
		"EndpointSlice": func() error {
			return w.EndpointSlice(t.Context(), discoveryv1ac.EndpointSlice("slice", c.namespace).WithAddressType(discoveryv1.AddressTypeIPv4).
				WithPorts(discoveryv1ac.EndpointPort().WithName("metrics").WithPort(9400)).
				WithEndpoints(discoveryv1ac.Endpoint().WithAddresses("10.0.0.1")))
		},
	}
	for what, write := range writes {
		if err := write(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		before := c.resourceVersions()
		if err := write(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff(before, c.resourceVersions()); diff != "" {
			t.Errorf("applying %s twice changes a resourceVersion:\n%s", what, diff)
		}
	}
}

// Foreign fields survive both the apply and the removal of the operator's fields.
func TestForeignFieldsSurvive(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := c.run(aPod("app-0").annotated("example.com/owner", "team-a"))
	before := pod.DeepCopy()
	w := writer()
	if err := w.PodAnnotations(t.Context(), pod, ours); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"example.com/owner": "team-a", "prometheus.io/scrape": "true", "prometheus.io/port": "9400"}
	if diff := cmp.Diff(want, c.annotations(pod)); diff != "" {
		t.Errorf("annotations after the apply (-want +got):\n%s", diff)
	}
	change(t, pod, func(pod *corev1.Pod) { pod.Annotations["example.com/other"] = "team-b" })
	if err := w.PodAnnotations(t.Context(), pod, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"example.com/owner": "team-a", "example.com/other": "team-b"}, c.annotations(pod)); diff != "" {
		t.Errorf("annotations after the removal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{before.Spec, before.Labels}, []any{pod.Spec, pod.Labels}); diff != "" {
		t.Errorf("fields other than annotations changed:\n%s", diff)
	}
	for _, entry := range pod.ManagedFields {
		if entry.Manager == string(records.OwnerPodAnnotations) {
			t.Errorf("after the removal, the operator still owns %s", entry.FieldsV1)
		}
	}
}

// A field that another manager owns with another value is not overwritten, and the
// error names the manager; if there are several, all of them.
func TestConflictNamesTheManager(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := c.run(aPod("app-0"))
	applyAnnotation(t, pod, "team-b's tool", "prometheus.io/port", "8080")
	applyAnnotation(t, pod, "helm", "prometheus.io/scrape", "false")

	err := writer().PodAnnotations(t.Context(), pod, ours)
	if diff := cmp.Diff([]string{"helm", "team-b's tool"}, apply.ConflictingManagers(err)); diff != "" {
		t.Errorf("managers (-want +got):\n%s\nerror: %v", diff, err)
	}
	if apply.IsGone(err) {
		t.Error("IsGone takes a conflict for a pod that is gone")
	}
	if diff := cmp.Diff(map[string]string{"prometheus.io/port": "8080", "prometheus.io/scrape": "false"}, c.annotations(pod)); diff != "" {
		t.Errorf("annotations changed in spite of the conflict (-want +got):\n%s", diff)
	}
	for _, other := range []error{nil, apierrors.NewNotFound(corev1.Resource("pods"), "x"), effectstest.ErrAccident} {
		if managers := apply.ConflictingManagers(other); managers != nil {
			t.Errorf("ConflictingManagers(%v): got %v, want none", other, managers)
		}
	}
}

// A pod that is gone is not recreated, and its successor of the same name is
// not changed by any write.
func TestGone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	e := c.export("exporter")
	w := writer()
	pod := c.run(aPod("app-0"))
	if _, err := w.Attachment(t.Context(), "", "record", pod, e, "revision"); err != nil {
		t.Fatal(err)
	}
	a := &v1alpha1.JmxAttachment{ObjectMeta: c.named("record")}
	get(t, a)
	writes := map[string]func() error{
		"annotations":            func() error { return w.PodAnnotations(t.Context(), pod, ours) },
		"removal of annotations": func() error { return w.PodAnnotations(t.Context(), pod, nil) },
		"attachment":             func() error { _, err := w.Attachment(t.Context(), a.UID, a.Name, pod, e, "another"); return err },
		"attachment status": func() error {
			return w.AttachmentStatus(t.Context(), a, &v1alpha1.JmxAttachmentStatus{Phase: "Annotated"})
		},
		"exporter status": func() error {
			return w.ExporterStatus(t.Context(), e, &v1alpha1.PrometheusJmxExporterStatus{Phase: "Annotated"})
		},
	}
	gone := func(when string) {
		t.Helper()
		for what, write := range writes {
			// The write to a successor's status fails, because its resourceVersion differs.
			if err := write(); !apply.IsGone(err) && !(strings.HasSuffix(what, "status") && apierrors.IsConflict(err)) {
				t.Errorf("%s, %s: got %v, want an error for which IsGone holds", what, when, err)
			}
		}
		if err := w.Delete(t.Context(), a); err != nil {
			t.Errorf("delete, %s: %v", when, err)
		}
	}
	for _, object := range []client.Object{pod, a, e} {
		remove(t, object.DeepCopyObject().(client.Object))
	}
	gone("deleted")
	for _, list := range []client.ObjectList{&corev1.PodList{}, &v1alpha1.JmxAttachmentList{}, &v1alpha1.PrometheusJmxExporterList{}} {
		c.list(list)
		each(t, list, func(object client.Object) { t.Errorf("%T %s was recreated", object, object.GetName()) })
	}

	successor := c.run(aPod("app-0"))
	e2 := c.export("exporter")
	if _, err := w.Attachment(t.Context(), "", "record", successor, e2, "revision"); err != nil {
		t.Fatal(err)
	}
	before := c.resourceVersions()
	gone("deleted and created again")
	if diff := cmp.Diff(before, c.resourceVersions()); diff != "" {
		t.Errorf("a successor was changed:\n%s", diff)
	}
}

// An annotation that another manager owns with the same value that the operator would
// write raises no conflict, but is still foreign: the status names the manager, and the
// operator adds none of its own until the manager releases the annotation.
func TestForeignAnnotations(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		then func(*testing.T, *corev1.Pod)
		says string
	}{
		"applied with the operator's value": {
			then: func(t *testing.T, pod *corev1.Pod) { applyAnnotation(t, pod, "helm", "prometheus.io/scrape", "true") },
			says: `prometheus.io/scrape of the pod is set by field manager "helm"`,
		},
		"applied with another value": {
			then: func(t *testing.T, pod *corev1.Pod) { applyAnnotation(t, pod, "helm", "prometheus.io/port", "8080") },
			says: `prometheus.io/port of the pod is set by field manager "helm"`,
		},
		"a scheme": {
			then: func(t *testing.T, pod *corev1.Pod) { applyAnnotation(t, pod, "helm", "prometheus.io/scheme", "https") },
			says: `prometheus.io/scheme of the pod is set by field manager "helm"`,
		},
		"two by two": {
			then: func(t *testing.T, pod *corev1.Pod) {
				applyAnnotation(t, pod, "zed", "prometheus.io/path", "/m")
				applyAnnotation(t, pod, "helm", "prometheus.io/port", "8080")
			},
			says: `prometheus.io/port, prometheus.io/path of the pod is set by field manager "helm", field manager "zed"`,
		},
	}
	for name, tc := range cases {
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				s := &story{cluster: newCluster(t)}
				o := s.operate()
				s.pod = s.run(aPod("app-0"))
				if when == "before" {
					tc.then(t, s.pod)
				}
				s.exporter = s.export("exporter")
				o.settle()
				if when == "after" {
					tc.then(t, s.pod)
				}
				o.settle()
				a := s.attachment(s.pod)
				if got := phaseOf(a); got != "Exposed AnnotationConflict" {
					t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "Exposed AnnotationConflict")
				}
				ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
				if !strings.HasPrefix(ready.Message, tc.says) {
					t.Errorf("message of Ready: got %q, want the prefix %q", ready.Message, tc.says)
				}
				for name := range s.annotations(s.pod) {
					if name != v1alpha1.AnnotationFlag && !strings.Contains(tc.says, name) {
						t.Errorf("annotation %s still exists", name)
					}
				}
				if diff := cmp.Diff([]string{v1alpha1.AnnotationFlag}, podfacts.OwnAnnotations(s.pod)); diff != "" {
					t.Errorf("annotations that the operator owns beside the foreign ones (-want +got):\n%s", diff)
				}
				o.did()
				s.later(24 * time.Hour)
				o.settle()
				if did := o.did(); len(did) > 0 {
					t.Errorf("effects without a change: got %q, want none", did)
				}
				if s.endpoints(s.exporter) == "" {
					t.Error("the endpoint was removed")
				}
				if events := o.events.with(v1alpha1.ReasonAnnotationConflict); len(events) != 1 {
					t.Errorf("%s Events: got %v, want one", v1alpha1.ReasonAnnotationConflict, events)
				}

				change(t, s.pod, func(pod *corev1.Pod) { pod.Annotations = nil })
				o.settle()
				s.isAnnotated("9400")
			})
		}
	}
}

// applyAnnotation applies an annotation as another field manager.
func applyAnnotation(t *testing.T, pod *corev1.Pod, manager, name, value string) {
	t.Helper()
	stated := corev1ac.Pod(pod.Name, pod.Namespace).WithAnnotations(map[string]string{name: value})
	if err := admin.Apply(t.Context(), stated, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}

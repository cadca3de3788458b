package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// takeAway removes the operator's annotations, as a tool does that does not know them.
func takeAway(t *testing.T, pod *corev1.Pod, manager string) {
	t.Helper()
	get(t, pod)
	before := pod.DeepCopy()
	for name := range pod.Annotations {
		if strings.HasPrefix(name, "prometheus.io/") {
			delete(pod.Annotations, name)
		}
	}
	if err := admin.Patch(t.Context(), pod, client.MergeFrom(before), client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
}

// Annotations that are removed repeatedly are restored five times; then the operator stops
// restoring them, and reports the remover as far as the pod identifies it.
func TestContested(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		owns bool // the remover owns a field of the pod
		says string
	}{
		"the remover owns no field": {false, "cannot be identified; see the API server's audit log"},
		"the remover owns a label":  {true, `Besides the operator, field manager "gitops" changed the pod last.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := annotated(t)
			if tc.owns {
				time.Sleep(1100 * time.Millisecond) // managedFields have a resolution of seconds, as has the pod's creation time
				before := s.pod.DeepCopy()
				s.pod.Labels["synced"] = "true"
				if err := admin.Patch(t.Context(), s.pod, client.MergeFrom(before), client.FieldOwner("gitops")); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 5 {
				takeAway(t, s.pod, "gitops")
				o.settle()
				if got := phaseOf(s.attachment(s.pod)); got != "Annotated" {
					t.Fatalf("phase of %s after restore %d: got %q, want %q", s.pod.Name, i+1, got, "Annotated")
				}
				s.isAnnotated("9400")
			}
			takeAway(t, s.pod, "gitops")
			o.settle()
			a := s.attachment(s.pod)
			if got := phaseOf(a); got != "Exposed AnnotationContested" {
				t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "Exposed AnnotationContested")
			}
			if got := s.message("Ready"); !strings.Contains(got, "were removed 6 times within 10m0s; the operator stopped restoring them.") || !strings.Contains(got, tc.says) {
				t.Errorf("message of Ready: got %q, want it to contain %q", got, tc.says)
			}
			if events := o.events.with(v1alpha1.ReasonAnnotationContested); len(events) != 1 || events[0].Type != corev1.EventTypeWarning {
				t.Errorf("%s Events: got %v, want one with the expected note", v1alpha1.ReasonAnnotationContested, events)
			}
			if s.endpoints(s.exporter) == "" {
				t.Error("the endpoint was removed")
			}
			o.did()
			for range 3 {
				s.later(24 * time.Hour)
				o.settle()
			}
			if did := o.did(); len(did) > 0 {
				t.Errorf("effects without a change: got %q, want none", did)
			}
			if s.annotations(s.pod)["prometheus.io/port"] != "" {
				t.Error("the annotations are still restored")
			}
		})
	}
}

// A single removal is not contested.
func TestNotContested(t *testing.T) {
	t.Parallel()
	s, o := annotated(t)
	for range 8 {
		takeAway(t, s.pod, "somebody")
		o.settle()
		s.isAnnotated("9400")
		s.later(11 * time.Minute)
	}
	if got := s.attachment(s.pod).Status.Restores.Count; got != 1 {
		t.Errorf("restores: got %d, want 1", got)
	}
}

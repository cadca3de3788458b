package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// takeAway does what a tool does that knows nothing of our annotations.
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

// Somebody takes our annotations away again and again: five times they are put
// back, and then there is peace, which a person is told of, with who it is as far
// as the pod tells.
func TestContested(t *testing.T) {
	for name, tc := range map[string]struct {
		owns bool // the other side owns a field of the pod
		says string
	}{
		"who owns nothing":     {false, "cannot be identified; see the API server's audit log"},
		"who owns a label too": {true, `Besides the operator, field manager "gitops" changed the pod last.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := annotated(t)
			if tc.owns {
				time.Sleep(1100 * time.Millisecond) // managedFields tell seconds, as does when the pod was created
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
					t.Fatalf("the %dth time the pod is %s", i+1, got)
				}
				s.isAnnotated("9400")
			}
			takeAway(t, s.pod, "gitops")
			o.settle()
			a := s.attachment(s.pod)
			if got := phaseOf(a); got != "Exposed AnnotationContested" {
				t.Fatalf("in the end the pod is %s", got)
			}
			if got := s.message("Ready"); !strings.Contains(got, "were removed 6 times within 10m0s; the operator stopped restoring them.") || !strings.Contains(got, tc.says) {
				t.Errorf("it says %s", got)
			}
			if events := o.events.with(v1alpha1.ReasonAnnotationContested); len(events) != 1 || events[0].Type != corev1.EventTypeWarning {
				t.Errorf("of Events there are %v", events)
			}
			if s.endpoints(s.exporter) == "" {
				t.Error("the endpoint is withdrawn")
			}
			o.did()
			for range 3 {
				s.later(24 * time.Hour)
				o.settle()
			}
			if did := o.did(); len(did) > 0 {
				t.Errorf("in peace it did %q", did)
			}
			if s.annotations(s.pod)["prometheus.io/port"] != "" {
				t.Error("it goes on")
			}
		})
	}
}

// Once in a while is no fight.
func TestNotContested(t *testing.T) {
	s, o := annotated(t)
	for range 8 {
		takeAway(t, s.pod, "somebody")
		o.settle()
		s.isAnnotated("9400")
		s.later(11 * time.Minute)
	}
	if got := s.attachment(s.pod).Status.Restores.Count; got != 1 {
		t.Errorf("%d times are counted", got)
	}
}

package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod without Java, which a start script may still start, is inspected for an hour. After
// that it costs no exec and no write until it becomes ready, or a container restarts.
func TestPodWithoutJava(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0").without("app").container("sidecar"))
	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		for i := range status.ContainerStatuses {
			status.ContainerStatuses[i].State.Running.StartedAt = metav1.NewTime(s.clock.Now())
		}
	})
	s.exporter = s.export("exporter")
	passes := func(d time.Duration) {
		for end := s.clock.Now().Add(d); s.clock.Now().Before(end); {
			if again := o.settle(); again > 0 {
				s.later(min(again, end.Sub(s.clock.Now())))
			} else {
				s.clock.SetTime(end)
			}
		}
		o.settle()
	}
	passes(time.Hour)
	if n := strings.Count(s.verbs(), "inspect"); n < 10 {
		t.Errorf("inspections in the first hour: got %d, want more than one for each container", n)
	}
	passes(10 * time.Minute)
	s.verbs()

	idle := func(d time.Duration) {
		t.Helper()
		before := s.resourceVersions()
		passes(d)
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations: got %q, want none", got)
		}
		if diff := cmp.Diff(before, s.resourceVersions()); diff != "" {
			t.Errorf("resource versions (-before +after):\n%s", diff)
		}
	}
	idle(3 * time.Hour)

	s.ready(corev1.ConditionFalse)
	idle(time.Hour)
	s.ready(corev1.ConditionTrue)
	passes(2 * time.Minute)
	if got := s.verbs(); got != "inspect inspect" {
		t.Errorf("helper operations after the pod became ready: got %q, want an inspection of each container", got)
	}
	idle(3 * time.Hour)

	s.containers.Get(s.pod.UID, "sidecar").JVMs = []*jvm{aJVM(javaStartTime + 1)}
	s.ready(corev1.ConditionFalse)
	s.ready(corev1.ConditionTrue)
	passes(2 * time.Minute)
	s.areAnnotated("9400")
}

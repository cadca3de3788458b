package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A JVM that starts late, in a container that was already inspected, is found when the pod
// becomes ready, but not earlier than after half a minute; otherwise nothing
// is executed.
func TestLateJVM(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*story, *operator, *container) {
		s := &story{cluster: newCluster(t)}
		o := s.operate()
		s.pod = s.run(aPod("app-0").container("late"))
		s.ready(corev1.ConditionFalse)
		s.exporter = s.export("exporter")
		o.settle()
		if got := s.processes(); len(got) != 1 || phaseOf(s.attachment(s.pod)) != isAnnotated {
			t.Fatalf("got phase %q and processes %v, want Annotated and one process", phaseOf(s.attachment(s.pod)), got)
		}
		s.verbs()
		return s, o, s.containers.Get(s.pod.UID, "late")
	}
	t.Run("the pod becomes ready long after the inspection", func(t *testing.T) {
		t.Parallel()
		s, o, late := begin(t)
		late.JVMs = []*jvm{aJVM(javaStartTime + 1)}
		for range 3 {
			s.later(time.Hour)
			o.settle()
		}
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations while not ready: got %q, want none", got)
		}
		s.ready(corev1.ConditionTrue)
		s.later(o.settle())
		o.settle()
		s.areAnnotated("9400", "9404")
		if j := s.jvm(s.pod); j.Loads != 1 || len(j.Asked) != 1 {
			t.Error("the other JVM was changed")
		}
		s.verbs()
		for range 3 {
			s.later(time.Hour)
			o.settle()
		}
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations while readiness is unchanged: got %q, want none", got)
		}
	})
	t.Run("the pod becomes ready right after the inspection", func(t *testing.T) {
		t.Parallel()
		s, o, late := begin(t)
		late.JVMs = []*jvm{aJVM(javaStartTime + 1)}
		inspected := s.attachment(s.pod).Status.Containers[0].Time
		s.clock.SetTime(inspected.Add(10 * time.Second))
		s.ready(corev1.ConditionTrue)
		_, again := s.check(o)
		if got := s.verbs(); got != "" || again < 20*time.Second || again > 80*time.Second {
			t.Errorf("after 10s: got helper operations %q and the next reconciliation in %s, want none and 20s to 80s", got, again)
		}
		s.later(again)
		s.check(o)
		if got := s.verbs(); !strings.HasPrefix(got, "inspect inspect ") {
			t.Errorf("after %s: got helper operations %q, want two inspections first", again, got)
		}
		o.settle()
		s.areAnnotated("9400", "9404")
	})
	t.Run("no further JVM starts", func(t *testing.T) {
		t.Parallel()
		s, o, _ := begin(t)
		s.later(time.Hour)
		s.ready(corev1.ConditionTrue)
		before := s.attachment(s.pod).Status
		s.later(o.settle())
		o.settle()
		if got := s.verbs(); got != "inspect inspect" {
			t.Errorf("helper operations: got %q, want inspections only", got)
		}
		after := s.attachment(s.pod).Status
		if after.Containers[0].Time.Equal(before.Containers[0].Time) || after.Phase != before.Phase {
			t.Errorf("the inspection is not recorded, or the phase changed: %+v", after)
		}
		o.outlast()
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations after the second readiness: got %q, want none", got)
		}
	})
}

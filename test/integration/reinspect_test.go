package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A JVM starts late, in a container that was looked into: it is found when the pod
// becomes ready, though not before half a minute has passed; without that nothing
// is executed.
func TestLateJVM(t *testing.T) {
	begin := func(t *testing.T) (*story, *operator, *container) {
		s := &story{cluster: newCluster(t)}
		o := s.operate()
		s.pod = s.run(aPod("app-0").container("late"))
		s.ready(corev1.ConditionFalse)
		s.exporter = s.export("exporter")
		o.settle()
		if got := s.processes(); len(got) != 1 || phaseOf(s.attachment(s.pod)) != isAnnotated {
			t.Fatalf("it is %s: %v", phaseOf(s.attachment(s.pod)), got)
		}
		s.verbs()
		return s, o, s.containers.get(s.pod.UID, "late")
	}
	t.Run("long after", func(t *testing.T) {
		t.Parallel()
		s, o, late := begin(t)
		late.jvms = []*jvm{aJVM(javaStartTime + 1)}
		for range 3 {
			s.later(time.Hour)
			o.settle()
		}
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations: got %q, want %q", got, "")
		}
		s.ready(corev1.ConditionTrue)
		s.later(o.settle())
		o.settle()
		s.areAnnotated("9400", "9404")
		if j := s.jvm(s.pod); j.loads != 1 || len(j.asked) != 1 {
			t.Error("the other JVM was touched")
		}
		s.verbs()
		for range 3 {
			s.later(time.Hour)
			o.settle()
		}
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations: got %q, want %q", got, "")
		}
	})
	t.Run("right after", func(t *testing.T) {
		t.Parallel()
		s, o, late := begin(t)
		late.jvms = []*jvm{aJVM(javaStartTime + 1)}
		inspected := s.attachment(s.pod).Status.Containers[0].Time
		s.clock.SetTime(inspected.Add(10 * time.Second))
		s.ready(corev1.ConditionTrue)
		_, again := s.check(o)
		if got := s.verbs(); got != "" || again < 20*time.Second || again > 80*time.Second {
			t.Errorf("after 10s run was %q, and it is reconciled again in %s", got, again)
		}
		s.later(again)
		s.check(o)
		if got := s.verbs(); !strings.HasPrefix(got, "inspect inspect ") {
			t.Errorf("after %s run was %q", again, got)
		}
		o.settle()
		s.areAnnotated("9400", "9404")
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		s, o, _ := begin(t)
		s.later(time.Hour)
		s.ready(corev1.ConditionTrue)
		before := s.attachment(s.pod).Status
		s.later(o.settle())
		o.settle()
		if got := s.verbs(); got != "inspect inspect" {
			t.Errorf("helper operations: got %q, want %q", got, "inspect inspect")
		}
		after := s.attachment(s.pod).Status
		if after.Containers[0].Time.Equal(before.Containers[0].Time) || after.Phase != before.Phase {
			t.Errorf("the record is %+v", after)
		}
		o.outlast()
		if got := s.verbs(); got != "" {
			t.Errorf("helper operations: got %q, want %q", got, "")
		}
	})
}

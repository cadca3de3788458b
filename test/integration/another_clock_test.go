package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A leader whose clock is a day ahead writes times that the next leader takes for now: it
// waits no longer for anything than if it had written them itself.
func TestLeaderClockAhead(t *testing.T) {
	t.Parallel()
	const ahead = 24 * time.Hour
	t.Run("a retry", func(t *testing.T) {
		t.Parallel()
		s := &story{cluster: newCluster(t)}
		o := s.operate()
		s.pod = s.run(aPod("app-0"))
		s.jvm(s.pod).Fault = fault(v1alpha1.ReasonAttachTimeout)
		s.configure(rules)
		s.exporter = s.anExporter("exporter")
		create(t, s.exporter)
		s.later(ahead)
		o.settle()
		s.later(-ahead)
		s.jvm(s.pod).Fault = nil
		o.settle()
		s.areAnnotated("9400")
	})
	t.Run("a detach", func(t *testing.T) {
		t.Parallel()
		s, o := longRunning(t, aPod("app-0"), nil)
		s.jvm(s.pod).Stays = fault(v1alpha1.ReasonAttachTimeout)
		remove(t, s.exporter)
		s.garbageCollect()
		s.later(ahead)
		o.settle()
		s.later(-ahead)
		start := s.clock.Now()
		o.outlast()
		if took := s.clock.Now().Sub(start); s.attachment(s.pod) != nil || took > 3*time.Minute {
			t.Errorf("the pod was released after %s (record: %v), want after its timeout of 2m", took, s.attachment(s.pod) != nil)
		}
	})
	t.Run("a canary", func(t *testing.T) {
		t.Parallel()
		f := aFleet(t, 3, nil)
		f.later(ahead)
		f.o.settle()
		f.expect("the canary is attached", isAnnotated, isPending, isPending)
		f.later(-ahead)
		f.o.settle()
		f.later(5 * time.Second)
		f.expect("the canary is proven", isAnnotated, isAnnotated, isAnnotated)
	})
}

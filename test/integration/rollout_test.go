package integration

import (
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// First attachments go out to the canary, then to the others, and so do changes:
// who waits keeps what it has.
func TestCanary(t *testing.T) {
	f := aFleet(t, 3, nil)
	f.expect("at first", isAnnotated, isPending, isPending)
	f.expectSums("at first", "1/1/3, Ready False Progressing, Stalled False Reconciled")
	f.later(2 * time.Second)
	f.expect("before the canary is proven", isAnnotated, isPending, isPending)
	f.later(2 * time.Second)
	f.expect("then", isAnnotated, isAnnotated, isAnnotated)
	f.expectSums("then", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")

	f.configure(changed)
	f.expectAsked("after a change", "2 1 1")
	f.expectSums("after a change", "1/3/3, Ready False Progressing, Stalled False Reconciled")
	f.expect("after a change", isAnnotated, isAnnotated, isAnnotated)
	for _, pod := range f.pods {
		if !strings.Contains(f.endpoints(f.exporter), pod.Status.PodIP+":9400") || f.annotations(pod)["prometheus.io/port"] != "9400" {
			t.Errorf("what %s has is withdrawn", pod.Name)
		}
	}
	f.later(5 * time.Second)
	f.expectAsked("when the canary is proven", "2 2 2")
	f.expectSums("in the end", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")

	late := f.run(aPod("app-9"))
	f.pods = append(f.pods, late)
	f.expect("a pod that comes late", isAnnotated, isAnnotated, isAnnotated, isAnnotated)

	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	f.o.settle()
	if got := f.endpoints(f.exporter); strings.Count(got, ":9500") != 1 || strings.Count(got, ":9400") != 3 {
		t.Errorf("after a change of the port, published is %q", got)
	}
	f.later(5 * time.Second)
	f.o.settle()
	if got := f.endpoints(f.exporter); strings.Count(got, ":9500") != 4 {
		t.Errorf("in the end, published is %q", got)
	}
}

// Another agent goes out in turns too.
func TestAnotherAgentInTurns(t *testing.T) {
	f := aFleet(t, 2, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	newer := *artifacts
	newer.Implementation = transport.NewBlob("exporter-", []byte("a newer exporter"), ".jar")
	f.artifacts = &newer
	f.o = f.operate()
	runs := func() (n int) {
		for _, pod := range f.pods {
			if f.jvm(pod).Mark.ImplementationSHA256 == newer.Implementation.SHA256 {
				n++
			}
		}
		return n
	}
	f.o.settle()
	if got := runs(); got != 1 {
		t.Errorf("%d pods have the newer agent at first", got)
	}
	f.later(5 * time.Second)
	f.o.settle()
	if got := runs(); got != 2 {
		t.Errorf("%d pods have the newer agent in the end", got)
	}
	for _, pod := range f.pods {
		if f.jvm(pod).loads != 1 {
			t.Errorf("into %s the agent was loaded %d times", pod.Name, f.jvm(pod).loads)
		}
	}
}

// As many as may be at once, in all and on a node; who is refused does not hold a
// place, nor who fails again and again.
func TestConcurrent(t *testing.T) {
	limits := func(concurrent, perNode int32) func(*v1alpha1.Rollout) {
		return func(r *v1alpha1.Rollout) {
			r.MaxConcurrent, r.MaxConcurrentPerNode = concurrent, perNode
			r.Canary.Count = new(int32(0))
		}
	}
	starting, refused := "Staged JVMStarting", "Staged AttachDisabled"
	f := aFleet(t, 6, limits(3, 1))
	for _, pod := range f.pods {
		f.jvm(pod).fault = fault(v1alpha1.ReasonJVMStarting)
	}
	f.expect("one on each node", starting, isPending, starting, isPending, starting, isPending)
	f.later(time.Minute)
	f.expect("as long as it takes", starting, isPending, starting, isPending, starting, isPending)
	f.jvm(f.pods[0]).fault = nil
	f.later(time.Minute)
	f.expect("when one is done", isAnnotated, starting, starting, isPending, starting, isPending)
	f.jvm(f.pods[2]).fault = fault(v1alpha1.ReasonAttachDisabled)
	f.later(time.Minute)
	f.expect("when one is refused", isAnnotated, starting, refused, starting, starting, isPending)
	f.jvm(f.pods[4]).fault = fault(v1alpha1.ReasonAttachTimeout)
	f.later(2 * time.Minute)
	f.expect("when one fails", isAnnotated, starting, refused, starting, "Staged AttachTimeout", isPending)
	f.later(time.Minute)
	f.expect("when it was tried six times", isAnnotated, starting, refused, starting, "Staged AttachTimeout", starting)
}

// The turn is a write of its own, made once.
func TestGrantIsWrittenOnce(t *testing.T) {
	f := aFleet(t, 2, nil)
	grants := 0
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if effect.What == "jmx-exporter-operator/attachment" {
			grants++
		}
		return do()
	}
	f.o.settle()
	f.later(time.Minute)
	f.o.settle()
	f.later(time.Hour)
	f.o.settle()
	if grants != 4 { // of each pod the record, and its turn
		t.Errorf("records were written %d times", grants)
	}
}

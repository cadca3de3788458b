package integration

import (
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// First attaches and changes go to the canary, then to the other pods; pods that wait
// keep their current state.
func TestCanary(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, nil)
	f.expect("at first", isAnnotated, isPending, isPending)
	f.expectSums("the canary is attached", "1/1/3, Ready False Progressing, Stalled False Reconciled")
	f.later(2 * time.Second)
	f.expect("the canary is not proven", isAnnotated, isPending, isPending)
	f.later(2 * time.Second)
	f.expect("the canary is proven", isAnnotated, isAnnotated, isAnnotated)
	f.expectSums("the canary is proven", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")

	f.configure(changed)
	f.expectAsked("the configuration changes", "2 1 1")
	f.expectSums("the configuration changes", "1/3/3, Ready False Progressing, Stalled False Reconciled")
	f.expect("the configuration changes", isAnnotated, isAnnotated, isAnnotated)
	for _, pod := range f.pods {
		if !strings.Contains(f.endpoints(f.exporter), pod.Status.PodIP+":9400") || f.annotations(pod)["prometheus.io/port"] != "9400" {
			t.Errorf("the endpoint or annotation of %s was removed", pod.Name)
		}
	}
	f.later(5 * time.Second)
	f.expectAsked("the changed canary is proven", "2 2 2")
	f.expectSums("the change is complete", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")

	late := f.run(aPod("app-9"))
	f.pods = append(f.pods, late)
	f.expect("a pod is created", isAnnotated, isAnnotated, isAnnotated, isAnnotated)

	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	f.o.settle()
	if got := f.endpoints(f.exporter); strings.Count(got, ":9500") != 1 || strings.Count(got, ":9400") != 3 {
		t.Errorf("endpoints after a change of the port: got %q, want one on 9500 and three on 9400", got)
	}
	f.later(5 * time.Second)
	f.o.settle()
	if got := f.endpoints(f.exporter); strings.Count(got, ":9500") != 4 {
		t.Errorf("endpoints when the change is complete: got %q, want four on 9500", got)
	}
}

// A new agent is rolled out with a canary, too.
func TestAnotherAgentInTurns(t *testing.T) {
	t.Parallel()
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
		t.Errorf("pods with the new agent at first: got %d, want 1", got)
	}
	f.later(5 * time.Second)
	f.o.settle()
	if got := runs(); got != 2 {
		t.Errorf("pods with the new agent in the end: got %d, want 2", got)
	}
	for _, pod := range f.pods {
		if f.jvm(pod).Loads != 1 {
			t.Errorf("loads of the agent in %s: got %d, want 1", pod.Name, f.jvm(pod).Loads)
		}
	}
}

// At most maxConcurrent pods are attached to at once, in all and per node; refused pods
// and pods that fail repeatedly hold no slot.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	limits := func(concurrent, perNode int32) func(*v1alpha1.Rollout) {
		return func(r *v1alpha1.Rollout) {
			r.MaxConcurrent, r.MaxConcurrentPerNode = concurrent, perNode
			r.Canary.Count = new(int32(0))
		}
	}
	starting, refused := "Staged JVMStarting", "Staged AttachDisabled"
	f := aFleet(t, 6, limits(3, 1))
	for _, pod := range f.pods {
		f.jvm(pod).Fault = fault(v1alpha1.ReasonJVMStarting)
	}
	f.expect("one pod per node is attached to", starting, isPending, starting, isPending, starting, isPending)
	f.later(time.Minute)
	f.expect("the pods are slow", starting, isPending, starting, isPending, starting, isPending)
	f.jvm(f.pods[0]).Fault = nil
	f.later(time.Minute)
	f.expect("one pod is done", isAnnotated, starting, starting, isPending, starting, isPending)
	f.jvm(f.pods[2]).Fault = fault(v1alpha1.ReasonAttachDisabled)
	f.later(time.Minute)
	f.expect("one pod is refused", isAnnotated, starting, refused, starting, starting, isPending)
	f.jvm(f.pods[4]).Fault = fault(v1alpha1.ReasonAttachTimeout)
	f.later(2 * time.Minute)
	f.expect("one pod fails", isAnnotated, starting, refused, starting, "Staged AttachTimeout", isPending)
	f.later(time.Minute)
	f.expect("one pod has failed six times", isAnnotated, starting, refused, starting, "Staged AttachTimeout", starting)
}

// The grant is a separate write, made once.
func TestGrantIsWrittenOnce(t *testing.T) {
	t.Parallel()
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
	if grants != 4 { // per pod, the JmxAttachment and its grant
		t.Errorf("writes of JmxAttachments: got %d, want 4", grants)
	}
}

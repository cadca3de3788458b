package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A slot is needed for the load, not for the inspection: all pods are inspected at
// once, and one that is refused takes no slot and is no canary.
func TestRefusedPodsTakeNoSlot(t *testing.T) {
	t.Parallel()
	const pods = 13
	f := aFleet(t, pods, careful)
	refusal := &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "It takes no agents."}
	want := make([]string, pods)
	for i, pod := range f.pods[:pods-1] {
		f.jvm(pod).Refusal = refusal
		want[i] = "Discovered AttachDisabled"
	}
	want[pods-1] = isAnnotated
	writes := 0
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if effect.What == "jmx-exporter-operator/attachment" {
			writes++
		}
		return do()
	}
	if _, err := f.o.round(); err != nil {
		t.Fatal(err)
	}
	for i, pod := range f.pods[:pods-1] {
		if got := phaseOf(f.attachment(pod)); got != want[i] {
			t.Errorf("phase of %s after one round: got %q, want %q", pod.Name, got, want[i])
		}
	}
	f.expect("all pods are inspected", want...)
	for i, revision := range f.grants() {
		if granted := revision != ""; granted != (i == pods-1) {
			t.Errorf("revision granted to %s: got %q, want one for the last pod only", f.pods[i].Name, revision)
		}
	}
	if writes != pods+1 {
		t.Errorf("writes of JmxAttachments: got %d, want %d", writes, pods+1)
	}
	f.expectSums("all pods are inspected", "13/1/13, Ready False PodsRefused, Stalled True PodsRefused")

	f.later(24 * time.Hour)
	f.configure(changed)
	f.expect("the revision changes", want...)
	f.expectSums("the revision changes", "13/1/13, Ready False PodsRefused, Stalled True PodsRefused")
	if writes != pods+2 {
		t.Errorf("writes of JmxAttachments after another revision: got %d, want %d", writes, pods+2)
	}

	f.jvm(f.pods[0]).Refusal = nil
	f.restart(f.pods[0])
	want[0] = isPending
	f.expect("a refused JVM is replaced before the canary is proven", want...)
	f.later(24 * time.Hour)
	want[0] = isAnnotated
	f.expect("the canary is proven", want...)
}

// The selection of processes applies at once to pods without an agent.
func TestRefusedPodsFollowTheExporter(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, nil)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Main"}}
	})
	excluded := "Discovered NoProcessIncluded"
	f.expect("all processes are excluded", excluded, excluded)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Processes = nil })
	f.expect("no process is excluded", isAnnotated, isPending)
}

package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The gate is before the load, not before the inspection: all pods are inspected at
// once, and one that is refused by then takes no slot and is no canary.
func TestRefusedPodsTakeNoSlot(t *testing.T) {
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
			t.Errorf("after one round, %s is %s", pod.Name, got)
		}
	}
	f.expect("inspected", want...)
	for i, revision := range f.grants() {
		if granted := revision != ""; granted != (i == pods-1) {
			t.Errorf("%s is granted %q", f.pods[i].Name, revision)
		}
	}
	if writes != pods+1 {
		t.Errorf("records were written %d times", writes)
	}
	f.expectSums("inspected", "13/1/13, Ready False PodsRefused, Stalled True PodsRefused")

	f.later(24 * time.Hour)
	f.configure(changed)
	f.expect("another revision", want...)
	f.expectSums("another revision", "13/1/13, Ready False PodsRefused, Stalled True PodsRefused")
	if writes != pods+2 {
		t.Errorf("after another revision, records were written %d times", writes)
	}

	f.jvm(f.pods[0]).Refusal = nil
	f.restart(f.pods[0])
	want[0] = isPending
	f.expect("one is another JVM, and the canary is not proven", want...)
	f.later(24 * time.Hour)
	want[0] = isAnnotated
	f.expect("in the end", want...)
}

// What the exporter chooses counts at once in pods to which nothing was attached.
func TestRefusedPodsFollowTheExporter(t *testing.T) {
	f := aFleet(t, 2, nil)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Main"}}
	})
	excluded := "Discovered NoProcessIncluded"
	f.expect("all are excluded", excluded, excluded)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Processes = nil })
	f.expect("none is", isAnnotated, isPending)
}

package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// The cost of attaching to a fleet for the first time: at most five writes and one Event
// per pod, besides what its exporter writes for all.
func TestWritesOfAColdFleet(t *testing.T) {
	t.Parallel()
	const pods, maxApplies = 5, 5
	f := aFleet(t, pods, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode = pods, pods
		r.Canary.Count = new(int32(0))
	})
	applies := map[string]int{}
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if effect.Kind != effects.Apply {
			return do()
		}
		of := "exporter"
		for _, pod := range f.pods {
			if strings.Contains(effect.On, "/"+pod.Name) { // the pod, or its record
				of = pod.Name
			}
		}
		applies[of]++
		return do()
	}
	f.o.settle()
	for _, pod := range f.pods {
		if got := phaseOf(f.attachment(pod)); got != isAnnotated {
			t.Errorf("phase of %s: got %q, want %q", pod.Name, got, isAnnotated)
		}
		if n := applies[pod.Name]; n > maxApplies {
			t.Errorf("writes to %s and its JmxAttachment: got %d, want at most %d", pod.Name, n, maxApplies)
		}
	}
	told := map[string]int{}
	for _, e := range f.o.events.events {
		told[fmt.Sprintf("%s %s", e.Type, e.Reason)]++
	}
	for what, want := range map[string]int{
		corev1.EventTypeNormal + " " + string(v1alpha1.PhaseLoaded): pods,
		corev1.EventTypeNormal + " " + v1alpha1.ReasonAllAnnotated:  1, // of the exporter
	} {
		if told[what] != want {
			t.Errorf("%s Events: got %d, want %d", what, told[what], want)
		}
		delete(told, what)
	}
	if len(told) > 0 {
		t.Errorf("unexpected Events: %v", told)
	}
}

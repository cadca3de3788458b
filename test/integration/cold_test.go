package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// What a fleet costs the API server that is attached to for the first time: of each
// pod at most five writes and two Events, besides what its exporter writes for all.
func TestWritesOfAColdFleet(t *testing.T) {
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
			t.Errorf("%s is %s", pod.Name, got)
		}
		if n := applies[pod.Name]; n > maxApplies {
			t.Errorf("%s is written %d times", pod.Name, n)
		}
	}
	told := map[string]int{}
	for _, e := range f.o.events.events {
		told[fmt.Sprintf("%s %s", e.Type, e.Reason)]++
	}
	for what, want := range map[string]int{
		corev1.EventTypeNormal + " " + string(v1alpha1.PhaseLoaded):    pods,
		corev1.EventTypeNormal + " " + string(v1alpha1.PhaseAnnotated): pods,
		corev1.EventTypeNormal + " " + v1alpha1.ReasonAllAnnotated:     1, // of the exporter
	} {
		if told[what] != want {
			t.Errorf("there are %d Events %q, not %d", told[what], what, want)
		}
		delete(told, what)
	}
	if len(told) > 0 {
		t.Errorf("there are other Events: %v", told)
	}
}

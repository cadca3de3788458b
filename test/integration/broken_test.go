package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// An invalid configuration does not affect existing endpoints: nothing is executed, and
// only the exporter's status is written. A container that restarts is attached to as before,
// a new pod only once it is fixed.
func TestBrokenConfigurationChangesNothing(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
		r.Canary.Count = new(int32(0))
	})
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	onlySums := func(when string) {
		t.Helper()
		f.o.did()
		f.containers.Called()
		f.o.settle()
		f.later(24 * time.Hour)
		f.o.settle()
		if diff := cmp.Diff([]string{"apply exporter-status"}, shortened(f.o.did())); diff != "" {
			t.Errorf("effects when %s (-want +got):\n%s", when, diff)
		}
		if calls := f.containers.Called(); len(calls) > 0 {
			t.Errorf("when %s: got helper operations %v, want none", when, calls)
		}
	}
	says := func(want string) {
		t.Helper()
		get(t, f.exporter)
		if got := meta.FindStatusCondition(f.exporter.Status.Conditions, v1alpha1.ConditionConfigValid); got.Reason != want {
			t.Errorf("ConfigValid: got %s %s %q, want reason %s", got.Status, got.Reason, got.Message, want)
		}
	}

	published := f.endpoints(f.exporter)
	f.configure("rules: {")
	onlySums("the configuration is invalid")
	says(v1alpha1.ReasonConfigNotYAML)
	f.expect("the configuration is invalid", isAnnotated, isAnnotated, isAnnotated)
	f.configure(rules)
	onlySums("the configuration is corrected")
	says(v1alpha1.ReasonValid)
	if got := f.endpoints(f.exporter); got != published {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, published)
	}

	const broken = "JavaFound " + v1alpha1.ReasonConfigNotYAML
	f.configure("rules: {")
	f.restart(f.pods[0])
	f.pods = append(f.pods, f.run(aPod("app-9")))
	f.expect("a container restarts, and a pod is created", isAnnotated, isAnnotated, isAnnotated, broken)
	f.expectAsked("a container restarts, and a pod is created", "1 1 1 0")
	f.o.did()
	f.later(24 * time.Hour)
	if f.o.settle(); f.o.count() > 0 {
		t.Errorf("effects while the configuration is invalid: got %q, want none", f.o.did())
	}
	f.configure(rules)
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if slices.Contains([]string{f.namespace + "/app-1/app", f.namespace + "/app-2/app"}, effect.On) {
			t.Errorf("unexpected effect on a served container: %s %s in %s", effect.Kind, effect.What, effect.On)
		}
		return do()
	}
	f.expect("the rollout is complete", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	f.expectAsked("the rollout is complete", "1 1 1 1")
}

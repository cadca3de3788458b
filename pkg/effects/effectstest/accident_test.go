package effectstest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// An operator of three effects, of which two have the same name, with each accident at each.
func TestAccidents(t *testing.T) {
	t.Parallel()
	recorded := []string{"apply", "exec", "apply"}
	// way tries the effects in turn, and returns those that were performed.
	way := func(a *Accident) (performed []string, errs int) {
		for n, effect := range recorded {
			err := a.Perform(effect, func() error {
				performed = append(performed, fmt.Sprint(effect, n))
				return nil
			})
			if err != nil {
				errs++
			}
			if err != nil && !errors.Is(err, ErrAccident) {
				t.Errorf("%s: %v", a, err)
			}
		}
		return performed, errs
	}
	all := []string{"apply0", "exec1", "apply2"}
	if got, errs := way(nil); !slices.Equal(got, all) || errs > 0 {
		t.Errorf("without an accident it performs %v, with %d errors", got, errs)
	}
	plan := Plan(recorded, DiesBefore, DiesAfter, IsRefused, LosesAnswer)
	if len(plan) != 12 {
		t.Fatalf("the plan has %d accidents", len(plan))
	}
	for i, a := range plan {
		n := i / 4 // the effect that it strikes
		want, errs := all, 1
		switch a.Kind {
		case DiesBefore:
			want, errs = all[:n], 3-n
		case DiesAfter:
			want, errs = all[:n+1], 3-n
		case IsRefused:
			want = slices.Delete(slices.Clone(all), n, n+1)
		case LosesAnswer:
		}
		if a.Happened() {
			t.Errorf("%s: it happened before", a)
		}
		got, failed := way(a)
		if !slices.Equal(got, want) || failed != errs || !a.Happened() {
			t.Errorf("%s: performed are %v with %d errors, want %v with %d", a, got, failed, want, errs)
		}
		if ended := a.Restart(); ended != (a.Kind == DiesBefore || a.Kind == DiesAfter) {
			t.Errorf("%s: the operator ended: %t", a, ended)
		}
		if got, failed := way(a); !slices.Equal(got, all) || failed > 0 || a.Restart() {
			t.Errorf("%s: afterwards performed are %v, with %d errors", a, got, failed)
		}
	}
}

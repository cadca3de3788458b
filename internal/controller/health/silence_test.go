package health

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Thousands of endpoints that a NetworkPolicy blocks do not delay others: endpoints that answer
// are checked meanwhile, on schedule.
func TestSilenceHoldsUpNobody(t *testing.T) {
	p := &stuck{answers: "well", asked: make(chan struct{}, 100), silent: errSilent}
	c := testclock.NewFakePassiveClock(start)
	checker := New(p, time.Minute, c)
	var all []v1alpha1.JavaProcess
	for i := range 5000 {
		all = append(all, exposed(fmt.Sprint("cut off ", i)))
	}
	checker.Track(pod, address, all)
	c.SetTime(start.Add(time.Hour))
	checker.CheckDue(t.Context())
	checker.Track(types.NamespacedName{Name: "well"}, address, []v1alpha1.JavaProcess{exposed("well")})
	p.silent = nil
	c.SetTime(start.Add(2 * time.Hour))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- checker.Start(ctx) }()
	deadline := time.After(time.Minute)
	for asked := 0; asked < 3; {
		select {
		case <-p.asked:
			asked++
		case <-time.After(50 * time.Millisecond): // after it recorded the result of a check
			c.SetTime(c.Now().Add(2 * time.Minute))
		case <-deadline:
			t.Fatalf("the endpoint that answers was checked only %d times", asked)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A silence that the Expose step saw end is over for the checker, too: neither its
// misses nor its long pause count any more.
func TestRecoveredElsewhere(t *testing.T) {
	f, silent := aChecker(time.Minute), exposed("a")
	silent.Endpoint.Silent = true
	f.err = errSilent
	f.Track(pod, address, []v1alpha1.JavaProcess{silent})
	for i := range 9 {
		f.at(t, time.Duration(i+1)*time.Hour)
	}
	f.Take(pod)
	f.took()
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a")})
	f.at(t, 9*time.Hour+2*time.Minute)
	if got := f.took(); got != "a" {
		t.Errorf("checked: got %q, want %q", got, "a")
	}
	if got := f.Take(pod); len(got) > 0 {
		t.Errorf("checks after a single miss: got %+v, want none", got)
	}
}

package statemachine

import (
	"fmt"
	"testing"
	"time"
)

var leaks = &Outcome{Kind: Failed, Reason: reasonOf[Failed], Message: "The keg leaks."}

// An item that fails is tried with increasing delays, others and other keys of it at once.
func TestAttempts(t *testing.T) {
	var a Attempts
	now, tries := noon, 0
	try := func(id string, o *Outcome) *Outcome {
		return a.Try(id, now, func() *Outcome { tries++; return o })
	}
	for count, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if o := try("keg", leaks); o != leaks || tries != count+1 {
			t.Fatalf("try %d: %v after %d tries", count+1, o, tries)
		}
		now = now.Add(delay - time.Millisecond)
		if o := try("keg", nil); o != leaks || tries != count+1 {
			t.Fatalf("too soon after try %d: %v after %d tries", count+1, o, tries)
		}
		now = now.Add(time.Millisecond)
	}
	if delay := a.Delay("keg"); delay != 8*time.Second {
		t.Errorf("after 4 failures, the delay is %s", delay)
	}
	if o := try("other keg", nil); o != nil || tries != 5 {
		t.Errorf("another item: %v after %d tries", o, tries)
	}
	if o := try("keg", nil); o != nil || tries != 6 || a.Delay("keg") != 0 {
		t.Errorf("the success: %v after %d tries, with a delay of %s", o, tries, a.Delay("keg"))
	}
}

// The delays double from MinDelay to MaxDelay, and MaxBackoff is the maximum of both.
func TestAttemptsDelay(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts *Attempts
		delays   string
		longest  time.Duration
	}{
		"by default":                {&Attempts{}, "[0s 1s 2s 4s 8s 16s]", MaxBackoff},
		"of others":                 {&Attempts{MinDelay: 5 * time.Second, MaxDelay: time.Minute}, "[0s 5s 10s 20s 40s 1m0s]", time.Minute},
		"a maximum below the first": {&Attempts{MinDelay: time.Minute, MaxDelay: time.Second}, "[0s 1s 1s 1s 1s 1s]", time.Second},
		"more than MaxBackoff":      {&Attempts{MinDelay: time.Hour, MaxDelay: 2 * time.Hour}, "[0s 10m0s 10m0s 10m0s 10m0s 10m0s]", MaxBackoff},
		"a first one that is short": {&Attempts{MinDelay: time.Millisecond}, "[0s 1ms 2ms 4ms 8ms 16ms]", MaxBackoff},
	} {
		t.Run(name, func(t *testing.T) {
			a := tc.attempts
			var delays []time.Duration
			for range 6 {
				delays = append(delays, a.Delay("keg"))
				a.Note("keg", noon, leaks)
			}
			if got := fmt.Sprint(delays); got != tc.delays {
				t.Errorf("the delays are %s, want %s", got, tc.delays)
			}
			for range 100 {
				a.Note("keg", noon, leaks)
			}
			if got := a.Delay("keg"); got != tc.longest {
				t.Errorf("after many failures it is %s, want %s", got, tc.longest)
			}
			if a.Note("keg", noon, nil); a.Delay("keg") != 0 {
				t.Error("a success is delayed")
			}
		})
	}
}

func TestAttemptsMaxDelay(t *testing.T) {
	a := Attempts{MaxDelay: 3 * time.Second}
	for range 10 {
		a.Note("keg", noon, leaks)
	}
	tried := false
	if a.Try("keg", noon.Add(a.MaxDelay), func() *Outcome { tried = true; return nil }); !tried {
		t.Error("after MaxDelay, the item is not tried")
	}
}

// What nobody tries any more, such as a member that was removed, takes no memory.
func TestAttemptsAreForgotten(t *testing.T) {
	var a Attempts
	a.Note("keg", noon, leaks)
	a.Note("other keg", noon.Add(2*MaxBackoff), leaks)
	if a.Delay("keg") != time.Second {
		t.Error("the failure is forgotten too early")
	}
	a.Note("other keg", noon.Add(2*MaxBackoff+time.Second), leaks)
	if len(a.items) != 1 || a.Delay("keg") != 0 {
		t.Errorf("%d items are left", len(a.items))
	}
}

// A keg that leaks delays neither the other kegs nor the walk. The step that fills kegs says that it
// leaks, the ones before do not.
func TestUpkeep(t *testing.T) {
	var attempts Attempts
	bursts := &Outcome{Kind: Failed, Reason: reasonOf[Failed], Message: "The other keg bursts."}
	upkeep := &Upkeep{Attempts: &attempts, Now: noon}
	var tried []string
	for id, o := range map[string]*Outcome{"whole keg": nil} {
		upkeep.Try(id, func() *Outcome { tried = append(tried, id); return o })
	}
	if upkeep.Kept() != nil {
		t.Errorf("without a failure, %+v is kept", upkeep.Kept())
	}
	upkeep.Try("keg", func() *Outcome { tried = append(tried, "keg"); return leaks })
	upkeep.Try("other keg", func() *Outcome { tried = append(tried, "other keg"); return bursts })
	upkeep.Keep(bursts)
	if len(tried) != 3 || upkeep.Kept() != leaks {
		t.Errorf("tried %q, kept %+v", tried, upkeep.Kept())
	}

	b := newBrewery(t, State{Phase: fermented})
	walk := b.walk("k")
	walk.Observe = nil
	walk.Steps[2] = Observe(bottled, func(*batch) *Outcome { return upkeep.Kept() })
	if _, err := walk.Forward(t.Context(), b.batch, &b.batch.State, bottled); err != nil {
		t.Fatal(err)
	}
	if s := b.batch.State; s.Phase != tasted || s.Message != leaks.Message {
		t.Errorf("the record is %+v", s)
	}

	next := &Upkeep{Attempts: &attempts, Now: noon.Add(time.Millisecond)}
	next.Try("keg", func() *Outcome { t.Error("the keg is tried again at once"); return nil })
	if next.Kept() != leaks {
		t.Errorf("meanwhile, %+v is kept", next.Kept())
	}
}

package statemachine

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasonOf has a reason of each kind, and kindOf classifies them.
var reasonOf = map[Kind]string{
	Pending: "Warming", Awaiting: "NoMalt", Failed: "BoiledOver", Broken: "BrokenKettle", Refused: "Forbidden",
}

func kindOf(reason string) Kind {
	for kind, r := range reasonOf {
		if r == reason {
			return kind
		}
	}
	return 0
}

func outcomeOf(kind Kind) Outcome {
	return Outcome{Kind: kind, Reason: reasonOf[kind], Message: "See the kettle."}
}

// noon has a fraction of a second, which the API drops.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 300_000_000, time.UTC)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Truncate(time.Second).Add(d))) }

func TestBlockedAndRequeueAfter(t *testing.T) {
	attempt := func(key string, next *metav1.Time) *Attempt {
		return &Attempt{Key: key, Phase: mashed, Count: 1, NextTime: next}
	}
	for name, tc := range map[string]struct {
		state   State
		blocked bool
		requeue time.Duration
	}{
		"nothing was tried":                       {State{}, false, MaxBackoff},
		"nothing was tried since the regress":     {State{Reason: reasonOf[Failed]}, false, MaxBackoff},
		"the retry is not due":                    {State{Reason: reasonOf[Failed], Attempt: attempt("k", at(2*time.Second))}, true, 1700 * time.Millisecond},
		"the retry is due":                        {State{Reason: reasonOf[Failed], Attempt: attempt("k", new(metav1.NewTime(noon)))}, false, time.Millisecond},
		"the retry is overdue":                    {State{Reason: reasonOf[Failed], Attempt: attempt("k", at(-time.Hour))}, false, time.Millisecond},
		"the key changed before the retry is due": {State{Reason: reasonOf[Failed], Attempt: attempt("other", at(2*time.Second))}, false, 1700 * time.Millisecond},
		"the step awaits an event":                {State{Reason: reasonOf[Awaiting], Attempt: attempt("k", nil)}, false, MaxBackoff},
		"the step is broken":                      {State{Reason: reasonOf[Broken], Attempt: attempt("k", nil)}, false, MaxBackoff},
		"the step is refused":                     {State{Reason: reasonOf[Refused], Attempt: attempt("k", nil)}, true, 0},
		"the step is refused with another key":    {State{Reason: reasonOf[Refused], Attempt: attempt("other", nil)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.state.Blocked("k", kindOf, noon); got != tc.blocked {
				t.Errorf("Blocked: got %t, want %t", got, tc.blocked)
			}
			if got := tc.state.RequeueAfter(kindOf, noon); got != tc.requeue {
				t.Errorf("RequeueAfter = %s, want %s", got, tc.requeue)
			}
		})
	}
}

func TestRecordCounts(t *testing.T) {
	before := func(kind Kind, key string, phase Phase, count int32) State {
		return State{Phase: mashed, Reason: reasonOf[kind], Message: "m", Attempt: &Attempt{Key: key, Phase: phase, Count: count, LastError: "e"}}
	}
	for name, tc := range map[string]struct {
		before  State
		outcome Kind
		count   int32 // of the Attempt; 0 for no Attempt
		timed   bool  // whether it has a NextTime
	}{
		"the first failure counts 1":                    {State{Phase: mashed}, Failed, 1, true},
		"the next failure counts up":                    {before(Failed, "k", fermented, 3), Failed, 4, true},
		"pending counts up, too":                        {before(Pending, "k", fermented, 3), Pending, 4, true},
		"a failure with another key starts again":       {before(Failed, "other", fermented, 3), Failed, 1, true},
		"a failure of another phase starts again":       {before(Failed, "k", tasted, 3), Failed, 1, true},
		"awaiting an event keeps the count":             {before(Awaiting, "k", fermented, 1), Awaiting, 1, false},
		"awaiting an event after failures starts again": {before(Failed, "k", fermented, 3), Awaiting, 1, false},
		"a broken step starts again":                    {before(Failed, "k", fermented, 3), Broken, 1, false},
		"a refused step counts up":                      {before(Failed, "k", fermented, 3), Refused, 4, false},
		"success ends the attempt":                      {before(Failed, "k", fermented, 3), Done, 0, false},
		"success of an earlier phase keeps the attempt": {before(Failed, "k", tasted, 3), Done, 3, false},
		"success with another key ends the attempt":     {before(Failed, "other", tasted, 3), Done, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			state := tc.before
			outcome := outcomeOf(tc.outcome)
			if tc.outcome == Done {
				outcome = Outcome{Kind: Done}
			}
			state.Record(fermented, "k", outcome, noon)
			want := outcome.Reason
			if tc.outcome == Done && tc.count > 0 {
				want = tc.before.Reason // that of the remaining Attempt
			}
			if state.Reason != want {
				t.Errorf("reason %q, want %q", state.Reason, want)
			}
			switch a := state.Attempt; {
			case tc.count == 0:
				if a != nil {
					t.Errorf("the Attempt still exists: %+v", a)
				}
			case a == nil:
				t.Error("the Attempt is missing")
			case a.Key != "k" || a.Count != tc.count || (a.NextTime != nil) != tc.timed:
				t.Errorf("got Attempt %+v, want count %d and a next time: %t", a, tc.count, tc.timed)
			}
		})
	}
}

// The API keeps whole seconds: NextTime is rounded up, never down.
func TestRecordBacksOffToTenMinutes(t *testing.T) {
	var state State
	for count, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600} {
		state.Record(mashed, "k", outcomeOf(Failed), noon)
		a := state.Attempt
		if int(a.Count) != count+1 {
			t.Errorf("count %d, want %d", a.Count, count+1)
		}
		wait, want := a.NextTime.Sub(noon), time.Duration(seconds)*time.Second
		if longest := min(want+want/10, MaxBackoff) + time.Second; wait < want || wait > longest {
			t.Errorf("try %d is followed by %s, want %s to %s", count+1, wait, want, longest)
		}
		if a.NextTime.Nanosecond() != 0 {
			t.Errorf("the next time has a fraction of a second: %s", a.NextTime)
		}
	}
}

func TestBackoffOfAnyCount(t *testing.T) {
	for count, want := range map[int32]time.Duration{-7: time.Second, 0: time.Second, 1: time.Second, 1 << 30: MaxBackoff} {
		if got := Backoff(count); got < want || got > min(want+want/10, MaxBackoff) {
			t.Errorf("Backoff(%d) = %s, want about %s", count, got, want)
		}
	}
}

func TestRecordCutsLastError(t *testing.T) {
	for name, tc := range map[string]struct{ err, want string }{
		"there is no error":                {"", ""},
		"the error is short":               {"boiled over", "boiled over"},
		"the error has the maximum length": {strings.Repeat("x", 1024), strings.Repeat("x", 1024)},
		"the error is too long":            {strings.Repeat("x", 1025), strings.Repeat("x", 1024)},
		"the cut is inside a rune":         {strings.Repeat("x", 1023) + "ö", strings.Repeat("x", 1023)},
		"the last rune just fits":          {strings.Repeat("x", 1022) + "öl", strings.Repeat("x", 1022) + "ö"},
		"the error is not UTF-8":           {"boiled\xff over", "boiled over"},
	} {
		t.Run(name, func(t *testing.T) {
			var state State
			outcome := outcomeOf(Failed)
			if tc.err != "" {
				outcome.Err = errors.New(tc.err)
			}
			state.Record(mashed, "k", outcome, noon)
			if diff := cmp.Diff(tc.want, state.Attempt.LastError); diff != "" || !utf8.ValidString(state.Attempt.LastError) {
				t.Errorf("LastError (-want +got):\n%s", diff)
			}
		})
	}
}

// What a record cannot hold is cut, and a long key still tells attempts apart.
func TestRecordIsBounded(t *testing.T) {
	long := strings.Repeat("k", 300)
	refused := func(string) Kind { return Refused }
	var s State
	s.Record(mashed, long+"a", Outcome{Kind: Refused, Reason: strings.Repeat("R", 70), Message: strings.Repeat("ü", 1000)}, time.Now())
	if len(s.Attempt.Key) > 256 || len(s.Reason) > 64 || len(s.Message) > 1024 || !utf8.ValidString(s.Message) {
		t.Errorf("a key of %d, a reason of %d, a message of %d bytes", len(s.Attempt.Key), len(s.Reason), len(s.Message))
	}
	if !s.Blocked(long+"a", refused, time.Now()) || s.Blocked(long+"b", refused, time.Now()) {
		t.Error("attempts with long keys are taken for one another")
	}
}

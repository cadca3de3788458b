package health

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

var (
	start     = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod       = types.NamespacedName{Namespace: "shop", Name: "cart"}
	errSilent = errors.New("silent")
)

const address = "10.0.0.1"

// prober is a Prober of which all endpoints answer the same; it notes who was asked.
type prober struct {
	mu    sync.Mutex
	asked []string
	err   error
}

// Answers implements Prober.
func (p *prober) Answers(_ context.Context, process *v1alpha1.JavaProcess) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, process.Container)
	return p.err
}

// took are the containers asked since the last call, sorted.
func (p *prober) took() string {
	slices.Sort(p.asked)
	asked := strings.Join(p.asked, " ")
	p.asked = nil
	return asked
}

// exposed is a process of a container that answers at the pod's address.
func exposed(container string) v1alpha1.JavaProcess {
	return v1alpha1.JavaProcess{
		Container: container, ContainerID: "containerd://" + container, PID: 7, StartTime: 11, Port: 9400,
		Endpoint: &v1alpha1.Endpoint{Address: address, Port: 9400, CheckedFrom: v1alpha1.CheckedFromOperator},
	}
}

func fromPod(p v1alpha1.JavaProcess) v1alpha1.JavaProcess {
	p.Endpoint.CheckedFrom = v1alpha1.CheckedFromPod
	return p
}

type fixture struct {
	*Checker
	*prober
	clock *testclock.FakePassiveClock
}

func aChecker(interval time.Duration) fixture {
	f := fixture{prober: &prober{}, clock: testclock.NewFakePassiveClock(start)}
	f.Checker = New(f.prober, interval, f.clock)
	return f
}

// at checks what is due at a time after the start.
func (f fixture) at(t *testing.T, after time.Duration) []types.NamespacedName {
	t.Helper()
	f.clock.SetTime(start.Add(after))
	return f.CheckDue(t.Context())
}

// Who is asked: endpoints at the pod's own address, when their time has come.
func TestCheckDue(t *testing.T) {
	elsewhere := exposed("b")
	elsewhere.Endpoint.Address = "10.0.0.9"
	never := exposed("c")
	never.Endpoint = nil
	for name, tc := range map[string]struct {
		interval, after time.Duration
		processes       []v1alpha1.JavaProcess
		want            string
	}{
		"not yet":                     {time.Minute, time.Minute - 1, []v1alpha1.JavaProcess{exposed("a")}, ""},
		"in time":                     {time.Minute, 66 * time.Second, []v1alpha1.JavaProcess{exposed("a")}, "a"},
		"both":                        {time.Minute, time.Hour, []v1alpha1.JavaProcess{exposed("a"), exposed("d")}, "a d"},
		"one at another address":      {time.Minute, time.Hour, []v1alpha1.JavaProcess{exposed("a"), elsewhere}, "a"},
		"one without an endpoint":     {time.Minute, time.Hour, []v1alpha1.JavaProcess{exposed("a"), never}, "a"},
		"one that cannot be reached":  {time.Minute, 5 * time.Minute, []v1alpha1.JavaProcess{exposed("a"), fromPod(exposed("d"))}, "a"},
		"it can be reached once more": {time.Minute, 11 * time.Minute, []v1alpha1.JavaProcess{fromPod(exposed("d"))}, "d"},
		"none, with the interval 0":   {0, 24 * time.Hour, []v1alpha1.JavaProcess{exposed("a")}, ""},
	} {
		f := aChecker(tc.interval)
		f.Track(pod, address, tc.processes)
		f.at(t, tc.after)
		if got := f.took(); got != tc.want {
			t.Errorf("%s: asked are %q, want %q", name, got, tc.want)
		}
		if f.at(t, tc.after); f.asked != nil {
			t.Errorf("%s: at once again asked are %q", name, f.took())
		}
	}
}

// An endpoint is asked once in an interval, soon again when it is silent, and less and
// less often when it still is; an answer brings the interval back.
func TestPause(t *testing.T) {
	f := aChecker(time.Minute)
	operator, inPod := exposed("a"), fromPod(exposed("b"))
	for name, tc := range map[string]struct {
		process *v1alpha1.JavaProcess
		misses  int32
		least   time.Duration
	}{
		"it answers":           {&operator, 0, time.Minute},
		"silent once":          {&operator, 1, time.Minute / 2},
		"silent twice":         {&operator, 2, 2 * time.Minute},
		"silent three times":   {&operator, 3, 4 * time.Minute},
		"silent four times":    {&operator, 4, 8 * time.Minute},
		"silent five times":    {&operator, 5, maxPause},
		"silent for ages":      {&operator, 1 << 30, maxPause},
		"seen from the pod":    {&inPod, 0, maxPause},
		"and silent from here": {&inPod, 9, maxPause},
	} {
		spread := map[time.Duration]bool{}
		for range 100 {
			got := f.pause(tc.process, tc.misses)
			most := tc.least * 11 / 10
			if tc.misses == 1 { // a fleet that falls silent at once is asked again over a while
				most = 2 * tc.least
			}
			if got < tc.least || got > most {
				t.Fatalf("%s: %s, want about %s", name, got, tc.least)
			}
			spread[got] = true
		}
		if len(spread) < 2 {
			t.Errorf("%s: all in the same second", name)
		}
	}
	for misses, least := range map[int32]time.Duration{0: time.Hour, 1: maxPause, 2: time.Hour, 1 << 30: time.Hour} {
		if got := aChecker(time.Hour).pause(&operator, misses); got < least || got > least*11/10 {
			t.Errorf("an hour's interval, silent %d times: %s, want about %s", misses, got, least)
		}
	}
}

// What is news to the reconciler, and what it takes: each check once.
func TestTake(t *testing.T) {
	id := func(p v1alpha1.JavaProcess) steps.ProcessIdentity { return steps.Identity(&p) }
	for name, tc := range map[string]struct {
		process v1alpha1.JavaProcess
		answers []error
		want    map[steps.ProcessIdentity]Check
		news    bool
	}{
		"it answers":                  {exposed("a"), []error{nil}, map[steps.ProcessIdentity]Check{}, false},
		"it is silent once":           {exposed("a"), []error{errSilent}, map[steps.ProcessIdentity]Check{}, false},
		"it is silent twice":          {exposed("a"), []error{errSilent, errSilent}, map[steps.ProcessIdentity]Check{id(exposed("a")): {Err: errSilent, Misses: 2}}, true},
		"it is silent again":          {exposed("a"), []error{errSilent, errSilent, errSilent}, map[steps.ProcessIdentity]Check{id(exposed("a")): {Err: errSilent, Misses: 3}}, true},
		"a foreign process answers":   {exposed("a"), []error{steps.ErrForeign}, map[steps.ProcessIdentity]Check{id(exposed("a")): {Err: steps.ErrForeign, Misses: 1}}, true},
		"it answers again":            {exposed("a"), []error{errSilent, nil}, map[steps.ProcessIdentity]Check{}, false},
		"silent after an answer":      {exposed("a"), []error{errSilent, nil, errSilent}, map[steps.ProcessIdentity]Check{}, false},
		"it is reached for once":      {fromPod(exposed("a")), []error{nil}, map[steps.ProcessIdentity]Check{id(exposed("a")): {}}, true},
		"it still cannot be reached ": {fromPod(exposed("a")), []error{errSilent, errSilent}, map[steps.ProcessIdentity]Check{}, false},
	} {
		f := aChecker(time.Minute)
		f.Track(pod, address, []v1alpha1.JavaProcess{tc.process})
		var news []types.NamespacedName
		for i, err := range tc.answers {
			f.err = err
			news = f.at(t, time.Duration(i+1)*time.Hour)
		}
		if slices.Contains(news, pod) != tc.news {
			t.Errorf("%s: news of %v", name, news)
		}
		same := cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) && errors.Is(b, a) })
		if diff := cmp.Diff(tc.want, f.Take(pod), same); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if again := f.Take(pod); len(again) > 0 {
			t.Errorf("%s: taken twice is %v", name, again)
		}
	}
}

// A check says for how long the endpoint was seen to answer before it fell silent: from
// its first answer after the last silence to its last one.
func TestServed(t *testing.T) {
	f := aChecker(time.Minute)
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a")})
	for i, tc := range []struct {
		err  error
		want time.Duration
	}{
		{err: errSilent}, {err: errSilent}, // it never answered
		{}, {}, {}, {err: errSilent}, {err: errSilent, want: 2 * time.Hour},
		{}, {err: errSilent}, {err: errSilent}, // one answer is no time
		{}, {}, {err: steps.ErrForeign, want: time.Hour},
	} {
		f.err = tc.err
		f.at(t, time.Duration(i+1)*time.Hour)
		for _, check := range f.Take(pod) {
			if check.Served != tc.want {
				t.Errorf("check %d: served for %s, want %s", i, check.Served, tc.want)
			}
		}
	}
}

// Pods and processes have times of their own, which stay while they are tracked and
// go with them.
func TestTrack(t *testing.T) {
	another := types.NamespacedName{Namespace: "shop", Name: "other"}
	f := aChecker(time.Minute)
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a")})
	f.clock.SetTime(start.Add(50 * time.Second))
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a"), exposed("new")})
	f.Track(another, address, []v1alpha1.JavaProcess{exposed("b")})
	if f.at(t, 66*time.Second); f.took() != "a" {
		t.Error("a process that is tracked again loses its time, or a new one has none")
	}
	replaced := exposed("a")
	replaced.StartTime++
	f.Track(pod, address, []v1alpha1.JavaProcess{replaced})
	if f.at(t, 67*time.Second); f.took() != "" {
		t.Error("another process in its place is asked in its time")
	}
	f.err = errSilent
	f.at(t, time.Hour)
	f.Forget(pod)
	if got := f.Take(pod); len(got) > 0 {
		t.Errorf("forgotten, and taken is %v", got)
	}
	f.took()
	if f.at(t, 24*time.Hour); f.took() != "b" {
		t.Error("a forgotten pod is asked, or another one is forgotten with it")
	}
}

// What was asked while its pod was forgotten is no news.
func TestForgottenMeanwhile(t *testing.T) {
	f := aChecker(time.Minute)
	p := exposed("a")
	f.Track(pod, address, []v1alpha1.JavaProcess{p})
	f.Forget(pod)
	if f.record(pod, &p, errSilent) {
		t.Error("news of a pod that is forgotten")
	}
}

// What was asked with the certificate of before a rotation says nothing of the one now.
func TestRotatedMeanwhile(t *testing.T) {
	f := aChecker(time.Minute)
	before, after := exposed("a"), exposed("a")
	before.CertificateSHA256, after.CertificateSHA256 = "before", "after"
	f.Track(pod, address, []v1alpha1.JavaProcess{before})
	if !f.record(pod, &before, steps.ErrForeign) {
		t.Error("a foreign process is no news")
	}
	f.Track(pod, address, []v1alpha1.JavaProcess{after})
	if got := f.Take(pod); len(got) > 0 {
		t.Errorf("taken is %v, of the certificate before", got)
	}
	if f.record(pod, &before, steps.ErrForeign) || !f.record(pod, &after, steps.ErrForeign) {
		t.Error("news of the certificate before, or none of the one now")
	}
}

// stuck is a Prober of which one endpoint answers, and all others never do.
type stuck struct {
	answers string
	asked   chan struct{}
	silent  error
}

// Answers implements Prober.
func (p *stuck) Answers(ctx context.Context, process *v1alpha1.JavaProcess) error {
	switch {
	case process.Container == p.answers:
		p.asked <- struct{}{}
		return nil
	case p.silent != nil:
		return p.silent
	}
	<-ctx.Done()
	return ctx.Err()
}

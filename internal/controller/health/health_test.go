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
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

var (
	start     = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod       = types.NamespacedName{Namespace: "shop", Name: "cart"}
	errSilent = errors.New("silent")
)

const address = "10.0.0.1"

// prober is a Prober whose endpoints all answer the same; it records its calls.
type prober struct {
	mu      sync.Mutex
	asked   []string
	err     error
	notices *helperapi.Notices
}

// Answers implements Prober.
func (p *prober) Answers(_ context.Context, process *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, process.Container)
	return p.notices, p.err
}

// took returns the containers checked since the previous call, sorted.
func (p *prober) took() string {
	slices.Sort(p.asked)
	asked := strings.Join(p.asked, " ")
	p.asked = nil
	return asked
}

// exposed returns a process of a container that serves at the pod's address.
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

// at checks the endpoints that are due at a time after the start.
func (f fixture) at(t *testing.T, after time.Duration) []types.NamespacedName {
	t.Helper()
	f.clock.SetTime(start.Add(after))
	return f.CheckDue(t.Context())
}

// Endpoints at the pod's own address are checked when they are due.
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
		"the endpoint is not due":                    {time.Minute, time.Minute - 1, []v1alpha1.JavaProcess{exposed("a")}, ""},
		"the endpoint is due":                        {time.Minute, 66 * time.Second, []v1alpha1.JavaProcess{exposed("a")}, "a"},
		"both endpoints are due":                     {time.Minute, time.Hour, []v1alpha1.JavaProcess{exposed("a"), exposed("d")}, "a d"},
		"one endpoint has another address":           {time.Minute, time.Hour, []v1alpha1.JavaProcess{exposed("a"), elsewhere}, "a"},
		"one process has no endpoint":                {time.Minute, time.Hour, []v1alpha1.JavaProcess{exposed("a"), never}, "a"},
		"one endpoint cannot be reached":             {time.Minute, 5 * time.Minute, []v1alpha1.JavaProcess{exposed("a"), fromPod(exposed("d"))}, "a"},
		"the endpoint cannot be reached, and is due": {time.Minute, 11 * time.Minute, []v1alpha1.JavaProcess{fromPod(exposed("d"))}, "d"},
		"the interval is 0":                          {0, 24 * time.Hour, []v1alpha1.JavaProcess{exposed("a")}, ""},
	} {
		f := aChecker(tc.interval)
		f.Track(pod, address, tc.processes)
		f.at(t, tc.after)
		if got := f.took(); got != tc.want {
			t.Errorf("%s: checked: got %q, want %q", name, got, tc.want)
		}
		if f.at(t, tc.after); f.asked != nil {
			t.Errorf("%s: checked again at once: got %q, want none", name, f.took())
		}
	}
}

// An endpoint is checked once per interval, soon after a miss, and at growing intervals
// while it is silent; an answer restores the interval.
func TestPause(t *testing.T) {
	f := aChecker(time.Minute)
	operator, inPod := exposed("a"), fromPod(exposed("b"))
	for name, tc := range map[string]struct {
		process *v1alpha1.JavaProcess
		misses  int32
		least   time.Duration
	}{
		"the endpoint answers":                                {&operator, 0, time.Minute},
		"the endpoint is silent once":                         {&operator, 1, time.Minute / 2},
		"the endpoint is silent twice":                        {&operator, 2, 2 * time.Minute},
		"the endpoint is silent three times":                  {&operator, 3, 4 * time.Minute},
		"the endpoint is silent four times":                   {&operator, 4, 8 * time.Minute},
		"the endpoint is silent five times":                   {&operator, 5, maxPause},
		"the endpoint has been silent for ages":               {&operator, 1 << 30, maxPause},
		"the endpoint is checked from the pod":                {&inPod, 0, maxPause},
		"the endpoint is checked from the pod, and is silent": {&inPod, 9, maxPause},
	} {
		spread := map[time.Duration]bool{}
		for range 100 {
			got := f.pause(tc.process, tc.misses)
			most := tc.least * 11 / 10
			if tc.misses == 1 { // a fleet that falls silent at once is checked again spread over time
				most = 2 * tc.least
			}
			if got < tc.least || got > most {
				t.Fatalf("%s: pause: got %s, want about %s", name, got, tc.least)
			}
			spread[got] = true
		}
		if len(spread) < 2 {
			t.Errorf("%s: all checks are in the same second", name)
		}
	}
	for misses, least := range map[int32]time.Duration{0: time.Hour, 1: maxPause, 2: time.Hour, 1 << 30: time.Hour} {
		if got := aChecker(time.Hour).pause(&operator, misses); got < least || got > least*11/10 {
			t.Errorf("interval of an hour after %d misses: got %s, want about %s", misses, got, least)
		}
	}
}

// The checks that trigger a reconciliation, which takes each of them once.
func TestTake(t *testing.T) {
	id := func(p v1alpha1.JavaProcess) record.ProcessIdentity { return record.Identity(&p) }
	for name, tc := range map[string]struct {
		process v1alpha1.JavaProcess
		answers []error
		want    map[record.ProcessIdentity]Check
		news    bool
	}{
		"the endpoint answers":                        {exposed("a"), []error{nil}, map[record.ProcessIdentity]Check{}, false},
		"the endpoint is silent once":                 {exposed("a"), []error{errSilent}, map[record.ProcessIdentity]Check{}, false},
		"the endpoint is silent twice":                {exposed("a"), []error{errSilent, errSilent}, map[record.ProcessIdentity]Check{id(exposed("a")): {Err: errSilent, Misses: 2}}, true},
		"the endpoint is silent again":                {exposed("a"), []error{errSilent, errSilent, errSilent}, map[record.ProcessIdentity]Check{id(exposed("a")): {Err: errSilent, Misses: 3}}, true},
		"a foreign process answers":                   {exposed("a"), []error{probe.ErrForeign}, map[record.ProcessIdentity]Check{id(exposed("a")): {Err: probe.ErrForeign, Misses: 1}}, true},
		"the endpoint answers again":                  {exposed("a"), []error{errSilent, nil}, map[record.ProcessIdentity]Check{}, false},
		"the endpoint is silent once after an answer": {exposed("a"), []error{errSilent, nil, errSilent}, map[record.ProcessIdentity]Check{}, false},
		"the endpoint can be reached again":           {fromPod(exposed("a")), []error{nil}, map[record.ProcessIdentity]Check{id(exposed("a")): {}}, true},
		"the endpoint still cannot be reached":        {fromPod(exposed("a")), []error{errSilent, errSilent}, map[record.ProcessIdentity]Check{}, false},
	} {
		f := aChecker(time.Minute)
		f.Track(pod, address, []v1alpha1.JavaProcess{tc.process})
		var news []types.NamespacedName
		for i, err := range tc.answers {
			f.err = err
			news = f.at(t, time.Duration(i+1)*time.Hour)
		}
		if slices.Contains(news, pod) != tc.news {
			t.Errorf("%s: triggered reconciliations: got %v", name, news)
		}
		same := cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) && errors.Is(b, a) })
		if diff := cmp.Diff(tc.want, f.Take(pod), same); diff != "" {
			t.Errorf("%s: checks (-want +got):\n%s", name, diff)
		}
		if again := f.Take(pod); len(again) > 0 {
			t.Errorf("%s: checks taken twice: %v", name, again)
		}
	}
}

// A check reports how long the endpoint served before it fell silent: from its first
// answer after the previous silence to its last.
func TestServed(t *testing.T) {
	f := aChecker(time.Minute)
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a")})
	for i, tc := range []struct {
		err  error
		want time.Duration
	}{
		{err: errSilent}, {err: errSilent}, // never answered
		{}, {}, {}, {err: errSilent}, {err: errSilent, want: 2 * time.Hour},
		{}, {err: errSilent}, {err: errSilent}, // a single answer is no period
		{}, {}, {err: probe.ErrForeign, want: time.Hour},
	} {
		f.err = tc.err
		f.at(t, time.Duration(i+1)*time.Hour)
		for _, check := range f.Take(pod) {
			if check.Served != tc.want {
				t.Errorf("check %d: Served: got %s, want %s", i, check.Served, tc.want)
			}
		}
	}
}

// Each process has its own schedule, which is kept as long as its pod is tracked with it.
func TestTrack(t *testing.T) {
	another := types.NamespacedName{Namespace: "shop", Name: "other"}
	f := aChecker(time.Minute)
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a")})
	f.clock.SetTime(start.Add(50 * time.Second))
	f.Track(pod, address, []v1alpha1.JavaProcess{exposed("a"), exposed("new")})
	f.Track(another, address, []v1alpha1.JavaProcess{exposed("b")})
	if f.at(t, 66*time.Second); f.took() != "a" {
		t.Error("a process that is tracked again lost its schedule, or a new one has none")
	}
	replaced := exposed("a")
	replaced.StartTime++
	f.Track(pod, address, []v1alpha1.JavaProcess{replaced})
	if f.at(t, 67*time.Second); f.took() != "" {
		t.Error("a replacement is checked on the schedule of the replaced process")
	}
	f.err = errSilent
	f.at(t, time.Hour)
	f.Forget(pod)
	if got := f.Take(pod); len(got) > 0 {
		t.Errorf("checks of a forgotten pod: got %v, want none", got)
	}
	f.took()
	if f.at(t, 24*time.Hour); f.took() != "b" {
		t.Error("a forgotten pod is checked, or another pod was forgotten with it")
	}
}

// A check that returns after its pod was forgotten triggers nothing.
func TestForgottenMeanwhile(t *testing.T) {
	f := aChecker(time.Minute)
	p := exposed("a")
	f.Track(pod, address, []v1alpha1.JavaProcess{p})
	f.Forget(pod)
	if f.record(pod, &p, nil, errSilent) {
		t.Error("a check of a forgotten pod triggers a reconciliation")
	}
}

// A check with the certificate of before a rotation says nothing about the current one.
func TestRotatedMeanwhile(t *testing.T) {
	f := aChecker(time.Minute)
	before, after := exposed("a"), exposed("a")
	before.CertificateSHA256, after.CertificateSHA256 = "before", "after"
	f.Track(pod, address, []v1alpha1.JavaProcess{before})
	if !f.record(pod, &before, nil, probe.ErrForeign) {
		t.Error("a foreign process triggers no reconciliation")
	}
	f.Track(pod, address, []v1alpha1.JavaProcess{after})
	if got := f.Take(pod); len(got) > 0 {
		t.Errorf("checks with the previous certificate: got %v, want none", got)
	}
	if f.record(pod, &before, nil, probe.ErrForeign) || !f.record(pod, &after, nil, probe.ErrForeign) {
		t.Error("a check with the previous certificate triggers a reconciliation, or one with the current does not")
	}
}

// stuck is a Prober of which one endpoint answers, and all others never do.
type stuck struct {
	answers string
	asked   chan struct{}
	silent  error
}

// Answers implements Prober.
func (p *stuck) Answers(ctx context.Context, process *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	switch {
	case process.Container == p.answers:
		p.asked <- struct{}{}
		return nil, nil
	case p.silent != nil:
		return nil, p.silent
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

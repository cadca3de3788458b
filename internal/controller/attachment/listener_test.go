package attachment

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// answering is a Prober of whose endpoints all answer the same.
type answering struct {
	asked int
	err   error
}

// Probe implements steps.Prober.
func (*answering) Probe(context.Context, string, int32) error { panic("nobody probes here") }

// Answers implements steps.Prober.
func (a *answering) Answers(context.Context, *v1alpha1.JavaProcess) error { a.asked++; return a.err }

// exposedScope is a pod whose JVM serves and was asked from the operator.
func exposedScope() *steps.Scope {
	s := aScope()
	s.Attachment.Name = "record"
	s.Status().Phase = v1alpha1.PhaseAnnotated
	p := &s.Status().Processes[0]
	p.Port, p.ConfigSHA256 = 9400, "config"
	p.Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400, CheckedFrom: v1alpha1.CheckedFromOperator}
	return s
}

// about tells whether a duration is one, or up to a tenth longer.
func about(d, want time.Duration) bool { return d >= want && d <= want*11/10 }

// An endpoint is asked once in an interval, and while it is silent less and less
// often; an answer brings the interval back.
func TestListenerPauses(t *testing.T) {
	clock := testclock.NewFakePassiveClock(start)
	prober := &answering{}
	l := NewListener(prober, time.Minute, clock)
	s := exposedScope()
	ask := func(when string, want int, wantErr error, pause time.Duration) {
		t.Helper()
		before := prober.asked
		all := l.listen(t.Context(), s)
		if prober.asked-before != want || len(all) != want || want == 1 && (!errors.Is(all[0].err, wantErr) || all[0].process != &s.Status().Processes[0]) {
			t.Errorf("%s: asked %d times, heard %+v", when, prober.asked-before, all)
		}
		if got := l.next(s); !about(got, pause) {
			t.Errorf("%s: it is asked again in %s, not about %s", when, got, pause)
		}
	}
	due := func() { clock.SetTime(clock.Now().Add(l.next(s))) }

	ask("it has answered just now", 0, nil, time.Minute)
	clock.SetTime(clock.Now().Add(l.next(s) - 1))
	if all := l.listen(t.Context(), s); len(all) > 0 {
		t.Errorf("before it is due, heard %+v", all)
	}
	due()
	ask("it is due", 1, nil, time.Minute)
	ask("at once again", 0, nil, time.Minute)
	prober.err = errors.New("silence")
	for _, pause := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, maxBackoff, maxBackoff, maxBackoff} {
		due()
		ask("it is silent", 1, prober.err, pause)
		ask("and is left alone", 0, nil, pause)
	}
	prober.err = nil
	due()
	ask("it answers again", 1, nil, time.Minute)
	for range 50 { // the shift has an end
		l.remember(s, map[steps.ProcessIdentity]hearing{steps.Identity(&s.Status().Processes[0]): {misses: 1 << 30}})
		prober.err = errors.New("silence")
		ask("after ages", 1, prober.err, maxBackoff)
	}
}

// One that only the helper reached is asked seldom; what has no endpoint never is.
func TestListenerWhom(t *testing.T) {
	fromPod := func(s *steps.Scope) { s.Status().Processes[0].Endpoint.CheckedFrom = v1alpha1.CheckedFromPod }
	for name, tc := range map[string]struct {
		how   func(*steps.Scope)
		pause time.Duration
	}{
		"exposed":                {func(*steps.Scope) {}, time.Minute},
		"checked from the pod":   {fromPod, maxBackoff},
		"without an endpoint":    {func(s *steps.Scope) { s.Status().Processes[0].Endpoint = nil }, 0},
		"on its way to a change": {func(s *steps.Scope) { s.Status().Phase = v1alpha1.PhaseJavaFound }, time.Minute},
		"without a process":      {func(s *steps.Scope) { s.Status().Processes = nil }, 0},
	} {
		clock := testclock.NewFakePassiveClock(start)
		prober := &answering{}
		l := NewListener(prober, time.Minute, clock)
		s := exposedScope()
		tc.how(s)
		if all := l.listen(t.Context(), s); len(all) > 0 || !about(l.next(s), tc.pause) {
			t.Errorf("%s: heard %+v, again in %s", name, all, l.next(s))
		}
		clock.SetTime(start.Add(24 * time.Hour))
		all := l.listen(t.Context(), s)
		if want := min(1, int(tc.pause)); len(all) != want || prober.asked != want || !about(l.next(s), tc.pause) {
			t.Errorf("%s, a day later: heard %+v, again in %s", name, all, l.next(s))
		}
	}
}

// Attachments and processes have times of their own, which go with them; with the
// interval 0 nobody is asked.
func TestListenerForgets(t *testing.T) {
	clock := testclock.NewFakePassiveClock(start)
	l := NewListener(&answering{}, time.Minute, clock)
	heard := func(s *steps.Scope) int { return len(l.listen(t.Context(), s)) }
	one, another := exposedScope(), exposedScope()
	another.Attachment.Name = "another"
	heard(one)
	clock.SetTime(start.Add(time.Hour))
	if n := heard(another); n > 0 {
		t.Errorf("another attachment is asked %d times", n)
	}
	replaced := exposedScope()
	replaced.Status().Processes[0].StartTime++
	if n := heard(replaced); n > 0 {
		t.Errorf("another process is asked %d times", n)
	}
	if got := len(l.recall(replaced)); got != 1 {
		t.Errorf("%d processes are kept in mind", got)
	}
	clock.SetTime(start.Add(2 * time.Hour))
	l.Forget(client.ObjectKeyFromObject(replaced.Attachment))
	if got := l.next(replaced); got != 0 {
		t.Errorf("what is forgotten is asked again in %s", got)
	}
	if n, m := heard(replaced), heard(another); n != 0 || m != 1 {
		t.Errorf("what is forgotten is asked %d times, another %d times", n, m)
	}
	l = NewListener(&answering{}, 0, clock)
	heard(one)
	clock.SetTime(start.Add(24 * time.Hour))
	if n := heard(one); n > 0 || l.next(one) != 0 {
		t.Errorf("with the interval 0 it is asked %d times, and again in %s", n, l.next(one))
	}
}

// What is done about an endpoint that is silent: nothing that is seen from the
// outside, until it is clear what became of the JVM.
func TestListen(t *testing.T) {
	running := &attach.Mark{State: attach.AgentRunning, Port: 9400}
	unreachable := errors.Join(steps.ErrUnreachable, errors.New("no route"))
	slow := errors.New("not HTTP")
	fails := func(reason string) error { return &transport.Error{Reason: reason, Message: "No."} }
	sees := func(p attach.Process) *attach.Report { return &attach.Report{Processes: []attach.Process{p}} }
	fromPod := func(p *v1alpha1.JavaProcess) { p.Endpoint.CheckedFrom = v1alpha1.CheckedFromPod }
	cases := map[string]struct {
		silence error
		report  *attach.Report
		err     error
		before  func(*v1alpha1.JavaProcess)
		want    func(*v1alpha1.JavaProcess) // nothing, if nil
		gone    bool
		execs   int
	}{
		"it answers":                       {},
		"it answers again":                 {before: fromPod, want: func(p *v1alpha1.JavaProcess) { p.Endpoint.CheckedFrom = v1alpha1.CheckedFromOperator }},
		"it still cannot be reached":       {silence: unreachable, before: fromPod},
		"the JVM is gone":                  {silence: unreachable, err: fails(v1alpha1.ReasonProcessGone), gone: true, execs: 1},
		"it serves, but cannot be reached": {silence: unreachable, report: sees(attach.Process{Mark: running}), want: fromPod, execs: 1},
		"it serves, and speaks something":  {silence: slow, report: sees(attach.Process{Mark: running}), execs: 1},
		"its agent is stopped":             {silence: unreachable, report: sees(attach.Process{Mark: &attach.Mark{State: attach.AgentStopped}}), want: func(p *v1alpha1.JavaProcess) { p.ConfigSHA256 = "" }, execs: 1},
		"there is no agent in it":          {silence: unreachable, report: sees(attach.Process{}), want: func(p *v1alpha1.JavaProcess) { p.ConfigSHA256 = "" }, execs: 1},
		"its mark cannot be read":          {silence: unreachable, report: sees(attach.Process{AgentJarOpen: true}), execs: 1},
		"exec is forbidden":                {silence: unreachable, err: fails(v1alpha1.ReasonExecForbidden), execs: 1},
		"the exec breaks off":              {silence: unreachable, err: errors.New("EOF"), execs: 1},
		"the pod is gone, or seems so":     {silence: unreachable, err: fails(v1alpha1.ReasonPodGone), execs: 1},
		"the helper tells of nothing":      {silence: unreachable, report: &attach.Report{}, execs: 1},
		"the stock exporter is cut off":    {silence: unreachable, report: sees(attach.Process{}), before: func(p *v1alpha1.JavaProcess) { p.Adopted = true }, want: fromPod, execs: 2},
	}
	for name, tc := range cases {
		clock := testclock.NewFakePassiveClock(start)
		execs := 0
		helper := transport.HelperFunc(func(context.Context, transport.Container, attach.Verb, attach.Request, ...transport.Blob) (*attach.Report, error) {
			execs++
			return tc.report, tc.err
		})
		s := exposedScope()
		p := &s.Status().Processes[0]
		if tc.before != nil {
			tc.before(p)
		}
		want := *p.DeepCopy()
		if tc.want != nil {
			tc.want(&want)
		}
		w := &walk{scope: s, Reconciler: &Reconciler{Helper: helper, Listener: NewListener(&answering{err: tc.silence}, time.Minute, clock)}}
		w.listen(t.Context())
		clock.SetTime(start.Add(time.Hour))
		w.listen(t.Context())
		w.listen(t.Context())
		if diff := cmp.Diff(want, *p); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := len(w.gone) == 1 && w.gone[0] == steps.Identity(p); got != tc.gone || execs != tc.execs {
			t.Errorf("%s: gone are %v, after %d execs", name, w.gone, execs)
		}
	}
}

// A pod that has become ready since it was looked into is looked into once more,
// but not right after.
func TestLookAgain(t *testing.T) {
	ready := func(at time.Duration) func(*steps.Scope) {
		return func(s *steps.Scope) {
			s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(at))}}
		}
	}
	cases := map[string]struct {
		how       []func(*steps.Scope)
		inspected time.Duration // against now
		sees      []attach.Process
		after     time.Duration
		changed   bool
		execs     int
	}{
		"ready before":             {how: []func(*steps.Scope){ready(-2 * time.Hour)}, inspected: -time.Hour},
		"never ready":              {inspected: -time.Hour},
		"not ready any more":       {how: []func(*steps.Scope){ready(0), func(s *steps.Scope) { s.Pod.Status.Conditions[0].Status = corev1.ConditionFalse }}, inspected: -time.Hour},
		"ready since, just now":    {how: []func(*steps.Scope){ready(-time.Second)}, inspected: -10 * time.Second, after: 20 * time.Second},
		"half a minute ago":        {how: []func(*steps.Scope){ready(-29 * time.Second)}, inspected: -settled, execs: 1, sees: []attach.Process{{Target: attach.Target{PID: 7, StartTime: 11}}}},
		"a JVM has come":           {how: []func(*steps.Scope){ready(-time.Minute)}, inspected: -time.Hour, execs: 1, sees: []attach.Process{{Target: attach.Target{PID: 7, StartTime: 11}}, {Target: attach.Target{PID: 8, StartTime: 12}}}, changed: true},
		"a JVM was replaced":       {how: []func(*steps.Scope){ready(-time.Minute)}, inspected: -time.Hour, execs: 1, sees: []attach.Process{{Target: attach.Target{PID: 7, StartTime: 12}}}, changed: true},
		"the JVM has gone":         {how: []func(*steps.Scope){ready(-time.Minute)}, inspected: -time.Hour, execs: 1, changed: true},
		"not its turn":             {how: []func(*steps.Scope){ready(-time.Minute), func(s *steps.Scope) { s.Granted = false }}, inspected: -time.Hour},
		"it is about to be anyway": {how: []func(*steps.Scope){ready(-time.Minute), func(s *steps.Scope) { s.Status().Inspected.ContainerIDs = nil }}, inspected: -time.Hour},
		"it was never looked into": {how: []func(*steps.Scope){ready(-time.Minute), func(s *steps.Scope) { s.Status().Inspected = nil }}, inspected: -time.Hour},
	}
	for name, tc := range cases {
		s := aScope()
		s.Granted = true
		s.Status().Inspected = &v1alpha1.Inspected{ContainerIDs: []string{"containerd://1"}, Time: metav1.NewTime(start.Add(tc.inspected))}
		for _, how := range tc.how {
			how(s)
		}
		execs := 0
		helper := transport.HelperFunc(func(context.Context, transport.Container, attach.Verb, attach.Request, ...transport.Blob) (*attach.Report, error) {
			execs++
			return &attach.Report{Processes: tc.sees}, nil
		})
		w := &walk{scope: s, Reconciler: &Reconciler{Helper: helper}}
		if after, changed := w.lookAgain(t.Context()); after != tc.after || changed != tc.changed || execs != tc.execs {
			t.Errorf("%s: to be looked into in %s, changed %t, after %d execs", name, after, changed, execs)
		}
		if w.lookAgain(t.Context()); execs != tc.execs {
			t.Errorf("%s: it is looked into again at once", name)
		}
	}
}

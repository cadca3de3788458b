package attachment

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The examination of an endpoint after a failed health check, which needs an exec only then.
func TestExamine(t *testing.T) {
	running := &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}
	unreachable := errors.Join(probe.ErrUnreachable, errors.New("no route"))
	inPod := func(p *v1alpha1.JavaProcess) { p.Endpoint.CheckedFrom = v1alpha1.CheckedFromPod }
	finds := func(f steps.Finding) *steps.Health { return &steps.Health{Finding: f, Misses: 2} }
	for name, tc := range map[string]struct {
		answer error
		status func() (*helperapi.Report, error)
		before func(*v1alpha1.JavaProcess)
		want   *steps.Health
		from   v1alpha1.CheckedFrom // Operator if empty
		execs  int
	}{
		"the endpoint answers":                                       {},
		"the endpoint can be reached again":                          {before: inPod},
		"the endpoint still cannot be reached":                       {answer: unreachable, before: inPod, from: v1alpha1.CheckedFromPod},
		"the JVM is gone":                                            {answer: unreachable, status: says(v1alpha1.ReasonProcessGone), want: finds(steps.FindingGone), execs: 1},
		"the endpoint serves in the pod, and cannot be reached":      {answer: unreachable, status: sees(helperapi.Process{Mark: running}), want: finds(steps.FindingServing), from: v1alpha1.CheckedFromPod, execs: 1},
		"the endpoint serves in the pod, and the answer is not HTTP": {answer: errors.New("not HTTP"), status: sees(helperapi.Process{Mark: running}), want: finds(steps.FindingServing), from: v1alpha1.CheckedFromPod, execs: 1},
		"another process has the port":                               {answer: probe.ErrForeign, status: sees(helperapi.Process{Mark: running}), want: &steps.Health{Finding: steps.FindingServing, Foreign: true, Misses: 2}, execs: 1},
		"the agent is stopped":                                       {answer: unreachable, status: sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentStopped}}), want: finds(steps.FindingStopped), execs: 1},
		"exec is forbidden":                                          {answer: unreachable, status: says(v1alpha1.ReasonExecForbidden), want: finds(steps.FindingUnclear), execs: 1},
	} {
		b, s := aBench(), servingPod()
		p := &s.Status().Processes[0]
		if tc.before != nil {
			tc.before(p)
		}
		want := *p.DeepCopy()
		if want.Endpoint.CheckedFrom = tc.from; tc.from == "" {
			want.Endpoint.CheckedFrom = v1alpha1.CheckedFromOperator
		}
		b.helper.answers["app status"], b.prober.err = tc.status, tc.answer
		v := b.of(s)
		b.Health.Track(v.key(), s.Pod.Status.PodIP, s.Status().Processes)
		for i := range 2 {
			b.clock.SetTime(start.Add(time.Duration(i+1) * time.Hour))
			b.Health.CheckDue(t.Context())
		}
		v.examine(t.Context())
		var got *steps.Health
		if h, ok := s.EndpointHealth[record.Identity(p)]; ok {
			if h.CheckedFrom != "" {
				_ = steps.CheckFrom{Process: record.Identity(p), From: h.CheckedFrom}.Apply(s)
			}
			if h.CheckedFrom = ""; h.Finding != "" {
				got = &h
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, *p); diff != "" {
			t.Errorf("%s: process in the status (-want +got):\n%s", name, diff)
		}
		if v.examine(t.Context()); len(s.EndpointHealth) != 0 || len(b.helper.ran) != tc.execs {
			t.Errorf("%s: second examination: got %v after %d execs", name, s.EndpointHealth, len(b.helper.ran))
		}
	}
}

// Notices of an agent are recorded without an exec, unless a load has said more since.
func TestNoticesOfAHealthCheck(t *testing.T) {
	for name, loaded := range map[string]bool{"as checked": false, "loaded since": true} {
		b, s := aBench(), servingPod()
		b.prober.notices = &helperapi.Notices{Skipped: &helperapi.Skipped{Count: 1, Domain: "a", Reason: "InvalidValue"}}
		v := b.of(s)
		b.Health.Track(v.key(), s.Pod.Status.PodIP, s.Status().Processes)
		b.clock.SetTime(start.Add(time.Hour))
		if news := b.Health.CheckDue(t.Context()); len(news) != 1 {
			t.Errorf("%s: reconciliations requested: %v", name, news)
		}
		want := b.prober.notices
		if loaded {
			s.Status().Processes[0].ConfigSHA256, want = "next", nil
		}
		v.examine(t.Context())
		if diff := cmp.Diff(want, s.EndpointHealth[record.Identity(&s.Status().Processes[0])].Notices); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(b.helper.ran) != 0 {
			t.Errorf("%s: %v was executed", name, b.helper.ran)
		}
	}
}

// An endpoint that is silent once is not examined: an exec follows only
// when the next check fails, too.
func TestExamineWaitsForSilenceToPersist(t *testing.T) {
	b, s := aBench(), servingPod()
	b.prober.err = probe.ErrUnreachable
	b.helper.answers["app status"] = says(v1alpha1.ReasonExecForbidden)
	v := b.of(s)
	b.Health.Track(v.key(), s.Pod.Status.PodIP, s.Status().Processes)
	for i, want := range []int{0, 1, 2} {
		b.clock.SetTime(start.Add(time.Duration(i+1) * time.Hour))
		news := len(b.Health.CheckDue(t.Context())) > 0
		if v.examine(t.Context()); len(b.helper.ran) != want || news != (want > 0) {
			t.Errorf("after %d failed checks: got %d execs, reconciliation requested: %t", i+1, len(b.helper.ran), news)
		}
	}
}

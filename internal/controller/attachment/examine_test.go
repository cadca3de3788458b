package attachment

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// What is collected of an endpoint whose health check failed: an exec only then.
func TestExamine(t *testing.T) {
	running := &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}
	unreachable := errors.Join(steps.ErrUnreachable, errors.New("no route"))
	inPod := func(p *v1alpha1.JavaProcess) { p.Endpoint.CheckedFrom = v1alpha1.CheckedFromPod }
	finds := func(f steps.Finding) *steps.Health { return &steps.Health{Finding: f, Misses: 1} }
	for name, tc := range map[string]struct {
		answer error
		status func() (*helperapi.Report, error)
		before func(*v1alpha1.JavaProcess)
		want   *steps.Health
		from   v1alpha1.CheckedFrom // Operator if empty
		execs  int
	}{
		"it answers":                       {},
		"it can be reached by now":         {before: inPod},
		"it still cannot be reached":       {answer: unreachable, before: inPod, from: v1alpha1.CheckedFromPod},
		"the JVM is gone":                  {answer: unreachable, status: says(v1alpha1.ReasonProcessGone), want: finds(steps.FindingGone), execs: 1},
		"it serves, but cannot be reached": {answer: unreachable, status: sees(helperapi.Process{Mark: running}), want: finds(steps.FindingServing), from: v1alpha1.CheckedFromPod, execs: 1},
		"it serves, and speaks something":  {answer: errors.New("not HTTP"), status: sees(helperapi.Process{Mark: running}), want: finds(steps.FindingServing), execs: 1},
		"another process has the port":     {answer: steps.ErrForeign, status: sees(helperapi.Process{Mark: running}), want: &steps.Health{Finding: steps.FindingServing, Foreign: true, Misses: 1}, execs: 1},
		"its agent is stopped":             {answer: unreachable, status: sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentStopped}}), want: finds(steps.FindingStopped), execs: 1},
		"exec is forbidden":                {answer: unreachable, status: says(v1alpha1.ReasonExecForbidden), want: finds(steps.FindingUnclear), execs: 1},
	} {
		b, s := aBench(), servingScope()
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
		b.clock.SetTime(start.Add(time.Hour))
		b.Health.CheckDue(t.Context())
		v.examine(t.Context())
		var got *steps.Health
		if h, ok := s.Health[steps.Identity(p)]; ok {
			got = &h
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, *p); diff != "" {
			t.Errorf("%s: the record (-want +got):\n%s", name, diff)
		}
		if v.examine(t.Context()); len(s.Health) != 0 || len(b.helper.ran) != tc.execs {
			t.Errorf("%s: examined again is %v, after %d execs", name, s.Health, len(b.helper.ran))
		}
	}
}

// A pod that has become ready since it was inspected is inspected once more, but
// not right after, and not in the same second as all others.
func TestReinspectAfter(t *testing.T) {
	ready := func(at time.Duration, status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(start.Add(at))}}
	}
	const longest = reinspectDelay + reinspectSpread
	for name, tc := range map[string]struct {
		conditions  []corev1.PodCondition
		inspected   time.Duration // against now
		pending     bool
		least, most time.Duration
	}{
		"ready before":             {conditions: ready(-2*time.Hour, corev1.ConditionTrue), inspected: -time.Hour, least: -1, most: -1},
		"never ready":              {inspected: -time.Hour, least: -1, most: -1},
		"not ready any more":       {conditions: ready(0, corev1.ConditionFalse), inspected: -time.Hour, least: -1, most: -1},
		"ready since, just now":    {conditions: ready(-time.Second, corev1.ConditionTrue), inspected: -10 * time.Second, least: 20 * time.Second, most: longest - 9*time.Second},
		"ready since a while":      {conditions: ready(-time.Second, corev1.ConditionTrue), inspected: -longest - time.Second},
		"ready since, not granted": {conditions: ready(-time.Second, corev1.ConditionTrue), inspected: -time.Hour, pending: true, least: -1, most: -1},
	} {
		s := aScope()
		s.Granted, s.Pod.Status.Conditions = !tc.pending, tc.conditions
		got := reinspectAfter(s, &v1alpha1.InspectedContainer{Time: new(metav1.NewTime(start.Add(tc.inspected)))})
		if got < tc.least || got > tc.most {
			t.Errorf("%s: in %s, want %s to %s", name, got, tc.least, tc.most)
		}
	}
}

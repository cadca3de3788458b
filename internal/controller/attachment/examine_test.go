package attachment

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The examination of an endpoint after a failed health check, which needs an exec only then.
func TestExamine(t *testing.T) {
	running := &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}
	unreachable := errors.Join(steps.ErrUnreachable, errors.New("no route"))
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
		"another process has the port":                               {answer: steps.ErrForeign, status: sees(helperapi.Process{Mark: running}), want: &steps.Health{Finding: steps.FindingServing, Foreign: true, Misses: 2}, execs: 1},
		"the agent is stopped":                                       {answer: unreachable, status: sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentStopped}}), want: finds(steps.FindingStopped), execs: 1},
		"exec is forbidden":                                          {answer: unreachable, status: says(v1alpha1.ReasonExecForbidden), want: finds(steps.FindingUnclear), execs: 1},
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
		for i := range 2 {
			b.clock.SetTime(start.Add(time.Duration(i+1) * time.Hour))
			b.Health.CheckDue(t.Context())
		}
		v.examine(t.Context())
		var got *steps.Health
		if h, ok := s.Health[steps.Identity(p)]; ok {
			got = &h
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, *p); diff != "" {
			t.Errorf("%s: process in the status (-want +got):\n%s", name, diff)
		}
		if v.examine(t.Context()); len(s.Health) != 0 || len(b.helper.ran) != tc.execs {
			t.Errorf("%s: second examination: got %v after %d execs", name, s.Health, len(b.helper.ran))
		}
	}
}

// An endpoint that is silent once is not examined: an exec follows only
// when the next check fails, too.
func TestExamineWaitsForSilenceToPersist(t *testing.T) {
	b, s := aBench(), servingScope()
	b.prober.err = steps.ErrUnreachable
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

func readyFor(since time.Duration, status corev1.ConditionStatus) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(start.Add(-since))}}
}

// A pod that becomes ready is inspected once more, but not at once, and not in the same
// second as all others; a pod that was ready before is not, if its health is
// checked.
func TestReinspectAfter(t *testing.T) {
	const longest = reinspectDelay + reinspectSpread
	fromPod := func(s *steps.Scope) { s.Status().Processes[0].Endpoint.CheckedFrom = v1alpha1.CheckedFromPod }
	neverAttached := func(s *steps.Scope) {
		p := &s.Status().Processes[0]
		s.Granted, s.Published, p.Endpoint, p.Intent, p.AgentFound = false, nil, nil, nil, false
	}
	for name, tc := range map[string]struct {
		conditions  []corev1.PodCondition
		inspected   time.Duration // ago
		wasReady    bool          // at the inspection
		how         func(*steps.Scope)
		unchecked   bool
		least, most time.Duration
	}{
		"the pod was ready before":                                   {conditions: readyFor(2*time.Hour, corev1.ConditionTrue), inspected: time.Hour, least: -1, most: -1},
		"the pod was never ready":                                    {inspected: time.Hour, least: -1, most: -1},
		"the pod is no longer ready":                                 {conditions: readyFor(0, corev1.ConditionFalse), inspected: time.Hour, least: -1, most: -1},
		"the pod became ready just now":                              {conditions: readyFor(time.Second, corev1.ConditionTrue), inspected: 10 * time.Second, least: reinspectDelay - time.Second, most: longest - time.Second},
		"the pod became ready just now, long after the inspection":   {conditions: readyFor(time.Second, corev1.ConditionTrue), inspected: time.Hour, least: reinspectDelay - time.Second, most: longest - time.Second},
		"the pod became ready a while ago":                           {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour},
		"the pod became ready, and is not granted":                   {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, how: func(s *steps.Scope) { s.Granted, s.Status().Processes[0].AgentFound = false, true }, least: -1, most: -1},
		"the pod became ready, and was never attached to":            {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, how: neverAttached},
		"the pod became ready again":                                 {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, least: -1, most: -1},
		"the pod became ready again, and cannot be reached":          {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, how: fromPod},
		"the pod became ready again just now, and cannot be reached": {conditions: readyFor(time.Second, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, how: fromPod, least: reinspectDelay - time.Second, most: longest - time.Second},
		"the pod became ready again, and has no health checks":       {conditions: readyFor(longest, corev1.ConditionTrue), inspected: time.Hour, wasReady: true, unchecked: true},
	} {
		s := servingScope()
		s.Pod.Status.Conditions = tc.conditions
		if tc.how != nil {
			tc.how(s)
		}
		entry := &v1alpha1.InspectedContainer{Name: "app", ContainerID: "containerd://1", Ready: tc.wasReady, Time: new(metav1.NewTime(start.Add(-tc.inspected)))}
		got := reinspectAfter(s, entry, !tc.unchecked)
		if got < tc.least || got > tc.most {
			t.Errorf("%s: inspection in %s, want %s to %s", name, got, tc.least, tc.most)
		}
	}
}

// Pods of a fleet that become ready in the same second are not inspected at the same time,
// and not at all if they were ready before.
func TestReadinessOfAFleet(t *testing.T) {
	for name, again := range map[string]bool{"the pods become ready for the first time": false, "the pods become ready again": true} {
		seconds := map[time.Duration]int{}
		for i := range 300 {
			s := servingScope()
			s.Pod.UID, s.Pod.Status.Conditions = types.UID(fmt.Sprint("pod ", i)), readyFor(time.Second, corev1.ConditionTrue)
			entry := &v1alpha1.InspectedContainer{Name: "app", ContainerID: "containerd://1", Ready: again, Time: new(metav1.NewTime(start.Add(-time.Hour)))}
			after := reinspectAfter(s, entry, true)
			if after > 0 {
				after = after.Truncate(time.Second)
			}
			seconds[after]++
		}
		for at, pods := range seconds {
			if again != (at < 0) || !again && pods > 30 {
				t.Errorf("%s: %d of 300 pods are inspected in %s", name, pods, at)
			}
		}
	}
}

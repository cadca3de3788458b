package steps

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The outcome of probing an endpoint.
func TestExpose(t *testing.T) {
	silent := &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "No."}
	unreachable := &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "No.", Err: probe.ErrUnreachable}
	type answers = map[string]func() (*helperapi.Report, error)
	for name, tc := range map[string]struct {
		probe  error
		helper answers
		how    func(*scene)
		want   string
		back   bool
		from   v1alpha1.CheckedFrom
	}{
		"the endpoint answers":                                  {from: v1alpha1.CheckedFromOperator},
		"the endpoint answers, and is not published":            {how: func(s *scene) { s.Published = nil }, want: v1alpha1.ReasonEndpointPending, from: v1alpha1.CheckedFromOperator},
		"the endpoint answered before":                          {probe: silent, how: func(s *scene) { *s.jvm().Process = serving("app", 9400) }, from: v1alpha1.CheckedFromOperator},
		"the pod has no address":                                {how: func(s *scene) { s.Pod.Status.PodIP = "" }, want: v1alpha1.ReasonContainerNotRunning},
		"the answer is wrong, and the agent serves":             {probe: silent, helper: answers{"app status": sees(helperapi.Process{Mark: isRunning})}, want: v1alpha1.ReasonEndpointNotServing},
		"the answer is wrong, and the agent cannot be examined": {probe: silent, want: v1alpha1.ReasonEndpointNotServing},
		"the answer is wrong, and the JVM is gone":              {probe: silent, helper: answers{"app status": says(v1alpha1.ReasonProcessGone)}, want: v1alpha1.ReasonProcessGone, back: true},
		"the endpoint answers only in the pod":                  {probe: unreachable, helper: answers{"app probe": sees()}, from: v1alpha1.CheckedFromPod},
		"the endpoint is silent in the pod, too":                {probe: unreachable, helper: answers{"app probe": says(v1alpha1.ReasonEndpointNotServing)}, want: v1alpha1.ReasonEndpointNotServing},
		"the endpoint is unreachable, and the JVM is gone":      {probe: unreachable, helper: answers{"app probe": says(v1alpha1.ReasonEndpointNotServing), "app status": says(v1alpha1.ReasonProcessGone)}, want: v1alpha1.ReasonProcessGone, back: true},
		"there is no capacity for a probe in the pod":           {probe: unreachable, helper: answers{"app probe": says(v1alpha1.ReasonQueued)}, want: v1alpha1.ReasonQueued},
	} {
		s := aSituation(aProcess("app", 9400))
		s.Published = []PublishedEndpoint{{anAddress, 9400, false}}
		s.Helper, s.Prober = &answering{answers: tc.helper}, probing{tc.probe}
		if tc.how != nil {
			tc.how(s)
		}
		got := Expose{s.Tools}.Ensure(t.Context(), s.jvm())
		if got.Reason != tc.want || (got.Back == Replaced) != tc.back {
			t.Errorf("%s: got %s, back by %q (%s), want %s, back: %t", name, got.Reason, got.Back, got.Message, tc.want, tc.back)
		}
		from := v1alpha1.CheckedFrom("")
		if e := s.jvm().Process.Endpoint; e != nil {
			from = e.CheckedFrom
		}
		if from != tc.from {
			t.Errorf("%s: checkedFrom: got %q, want %q", name, from, tc.from)
		}
	}
}

// An endpoint that fails again stays in the status: EndpointSlices follow the status, not
// the phase.
func TestExposeKeepsASilentEndpoint(t *testing.T) {
	s := aSituation(serving("app", 9400)).published()
	s.jvm().Process.Endpoint.Silent = true
	s.Helper, s.Prober = &answering{}, probing{&transport.Error{Reason: v1alpha1.ReasonEndpointNotServing}}
	got := Expose{s.Tools}.Ensure(t.Context(), s.jvm())
	if got.Reason != v1alpha1.ReasonEndpointNotServing || s.jvm().Process.Endpoint == nil {
		t.Errorf("got %s with endpoint %+v, want EndpointNotServing with the endpoint", got.Reason, s.jvm().Process.Endpoint)
	}
}

// The agent is stopped once its endpoint is no longer in an EndpointSlice, or after a
// timeout while the pod is detaching.
func TestUnexpose(t *testing.T) {
	ago := func(d time.Duration) func(*scene) {
		return func(s *scene) { s.Status().DetachStartTime = new(metav1.NewTime(s.Now.Add(-d))) }
	}
	for name, tc := range map[string]struct {
		published bool
		how       func(*scene)
		want      statemachine.Kind
	}{
		"the endpoint is published":                           {published: true, want: statemachine.Awaiting},
		"the endpoint is not published":                       {want: statemachine.Done},
		"the endpoint is published, and the pod is detaching": {published: true, how: ago(0), want: statemachine.Awaiting},
		"the endpoint is published after the timeout":         {published: true, how: ago(unpublishTimeout), want: statemachine.Done},
		"the endpoint is published without an agent":          {published: true, how: func(s *scene) { s.jvm().Process.Intent = nil }, want: statemachine.Done},
		"the agent moved to another port":                     {published: true, how: func(s *scene) { s.jvm().Process.Port = 9404 }, want: statemachine.Awaiting},
		"the pod's address changed":                           {published: true, how: func(s *scene) { s.Pod.Status.PodIP = "10.0.0.9" }, want: statemachine.Awaiting},
		"the endpoint of another JVM is published": {how: func(s *scene) {
			s.Status().Processes = append(s.Status().Processes, serving("worker", 9404))
			s.published()
			s.Published = s.Published[1:]
		}, want: statemachine.Done},
		"the endpoint of the stock exporter is published": {published: true, how: func(s *scene) { s.jvm().Process.Adopted = true }, want: statemachine.Done},
	} {
		s := aSituation(serving("app", 9400))
		if tc.published {
			s.published()
		}
		if tc.how != nil {
			tc.how(s)
		}
		p := s.jvm().Process
		Expose{s.Tools}.Undo(t.Context(), s.jvm())
		got := Expose{s.Tools}.Undo(t.Context(), s.jvm()) // the status no longer has the endpoint
		retries := got.Kind != statemachine.Done && s.Status().DetachStartTime != nil
		if got.Kind != tc.want || p.Endpoint != nil || (got.RetryAfter > 0) != retries {
			t.Errorf("%s: got %d %s, retry after %s, endpoint %+v", name, got.Kind, got.Reason, got.RetryAfter, p.Endpoint)
		}
	}
}

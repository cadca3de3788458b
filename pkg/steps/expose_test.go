package steps

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// What an endpoint that is asked for its metrics comes to.
func TestExpose(t *testing.T) {
	silent := &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "No."}
	unreachable := &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "No.", Err: ErrUnreachable}
	type answers = map[string]func() (*helperapi.Report, error)
	for name, tc := range map[string]struct {
		probe  error
		helper answers
		how    func(*Scope)
		want   string
		back   bool
		from   v1alpha1.CheckedFrom
	}{
		"it answers":                         {from: v1alpha1.CheckedFromOperator},
		"it answers, and is not published":   {how: func(s *Scope) { s.Published = nil }, want: v1alpha1.ReasonEndpointPending, from: v1alpha1.CheckedFromOperator},
		"it answered already":                {probe: silent, how: func(s *Scope) { *s.jvm().Process = serving("app", 9400) }, from: v1alpha1.CheckedFromOperator},
		"the pod has no address":             {how: func(s *Scope) { s.Pod.Status.PodIP = "" }, want: v1alpha1.ReasonContainerNotRunning},
		"it answers otherwise":               {probe: silent, helper: answers{"app status": sees(helperapi.Process{Mark: isRunning})}, want: v1alpha1.ReasonEndpointNotServing},
		"it answers otherwise, unclear":      {probe: silent, want: v1alpha1.ReasonEndpointNotServing},
		"the JVM is gone":                    {probe: silent, helper: answers{"app status": says(v1alpha1.ReasonProcessGone)}, want: v1alpha1.ReasonProcessGone, back: true},
		"unreachable, it answers in the pod": {probe: unreachable, helper: answers{"app probe": sees()}, from: v1alpha1.CheckedFromPod},
		"unreachable, and silent":            {probe: unreachable, helper: answers{"app probe": says(v1alpha1.ReasonEndpointNotServing)}, want: v1alpha1.ReasonEndpointNotServing},
		"unreachable, and the JVM is gone":   {probe: unreachable, helper: answers{"app probe": says(v1alpha1.ReasonEndpointNotServing), "app status": says(v1alpha1.ReasonProcessGone)}, want: v1alpha1.ReasonProcessGone, back: true},
		"unreachable, there is no room":      {probe: unreachable, helper: answers{"app probe": says(v1alpha1.ReasonQueued)}, want: v1alpha1.ReasonQueued},
	} {
		s := aScope(aProcess("app", 9400))
		s.Published = []PublishedEndpoint{{anAddress, 9400, false}}
		s.Helper, s.Prober = &answering{answers: tc.helper}, probing{tc.probe}
		if tc.how != nil {
			tc.how(s)
		}
		got := Expose{}.Ensure(t.Context(), s.jvm())
		if got.Reason != tc.want || (got.Back == Replaced) != tc.back {
			t.Errorf("%s: %s, back by %q: %s", name, got.Reason, got.Back, got.Message)
		}
		from := v1alpha1.CheckedFrom("")
		if e := s.jvm().Process.Endpoint; e != nil {
			from = e.CheckedFrom
		}
		if from != tc.from {
			t.Errorf("%s: it was checked from %q", name, from)
		}
	}
}

// An endpoint that fails again keeps standing in the record: what people scrape
// follows it, not the phase.
func TestExposeKeepsASilentEndpoint(t *testing.T) {
	s := aScope(serving("app", 9400)).published()
	s.jvm().Process.Endpoint.Silent = true
	s.Helper, s.Prober = &answering{}, probing{&transport.Error{Reason: v1alpha1.ReasonEndpointNotServing}}
	got := Expose{}.Ensure(t.Context(), s.jvm())
	if got.Reason != v1alpha1.ReasonEndpointNotServing || s.jvm().Process.Endpoint == nil {
		t.Errorf("it comes to %s; the endpoint is %+v", got.Reason, s.jvm().Process.Endpoint)
	}
}

// The agent is stopped when the endpoint is out of its EndpointSlice; in a pod that
// is detached, or when that was waited for long enough.
func TestUnexpose(t *testing.T) {
	ago := func(d time.Duration) func(*Scope) {
		return func(s *Scope) { s.Status().DetachStartTime = new(metav1.NewTime(s.Now.Add(-d))) }
	}
	for name, tc := range map[string]struct {
		published bool
		how       func(*Scope)
		want      statemachine.Kind
	}{
		"it is published, which an event ends": {published: true, want: statemachine.Awaiting},
		"it is not":                            {want: statemachine.Done},
		"it is, and detaches now":              {published: true, how: ago(0), want: statemachine.Awaiting},
		"it is, and detached long":             {published: true, how: ago(unpublishTimeout), want: statemachine.Done},
		"it is, there is no agent":             {published: true, how: func(s *Scope) { s.jvm().Process.Intent = nil }, want: statemachine.Done},
		"the agent moved since":                {published: true, how: func(s *Scope) { s.jvm().Process.Port = 9404 }, want: statemachine.Awaiting},
		"the pod's address changed":            {published: true, how: func(s *Scope) { s.Pod.Status.PodIP = "10.0.0.9" }, want: statemachine.Awaiting},
		"another JVM's is": {how: func(s *Scope) {
			s.Status().Processes = append(s.Status().Processes, serving("worker", 9404))
			s.published()
			s.Published = s.Published[1:]
		}, want: statemachine.Done},
		"it is, the stock exporter's": {published: true, how: func(s *Scope) { s.jvm().Process.Adopted = true }, want: statemachine.Done},
	} {
		s := aScope(serving("app", 9400))
		if tc.published {
			s.published()
		}
		if tc.how != nil {
			tc.how(s)
		}
		p := s.jvm().Process
		Expose{}.Undo(t.Context(), s.jvm())
		got := Expose{}.Undo(t.Context(), s.jvm()) // the record does not have it any more
		retries := got.Kind != statemachine.Done && s.Status().DetachStartTime != nil
		if got.Kind != tc.want || p.Endpoint != nil || (got.RetryAfter > 0) != retries {
			t.Errorf("%s: %d %s, again after %s; the endpoint is %+v", name, got.Kind, got.Reason, got.RetryAfter, p.Endpoint)
		}
	}
}

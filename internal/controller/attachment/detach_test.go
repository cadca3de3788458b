package attachment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The steps of a detach: the endpoint is removed from the status before the agent is
// stopped; failures are retried until the timeout.
func TestDetach(t *testing.T) {
	for name, tc := range map[string]struct {
		unload    func() (*helperapi.Report, error)
		published bool
		how       func(*steps.Situation)
		after     time.Duration // approximately
		ran       string
		left      bool
		says      string
		event     string
	}{
		"everything is undone":            {unload: sees(), ran: "app unload", event: "Normal Detached"},
		"the endpoint is still published": {unload: sees(), published: true, after: time.Second, left: true, says: "The operator is detaching from the pod."},
		"the agent does not stop":         {unload: says(v1alpha1.ReasonAttachTimeout), after: 2 * time.Second, ran: "app unload", left: true, says: "process 7 in container app: No."},
		"the failure needs a person":      {unload: says(v1alpha1.ReasonNoShell), after: time.Second, ran: "app unload", left: true, says: "process 7 in container app: No."},
		"there is no capacity":            {unload: says(v1alpha1.ReasonQueued), after: statemachine.QueuedFor, ran: "app unload", left: true, says: "The operator is detaching from the pod."},
		"the timeout has passed": {
			unload: says(v1alpha1.ReasonAttachTimeout), how: func(s *steps.Situation) {
				s.Status().DetachStartTime, s.Status().DetachTimeout.Duration = new(metav1.NewTime(start.Add(-time.Hour))), time.Minute
			}, ran: "app unload", left: true, event: "Warning AgentLeft",
		},
		"the timeout has passed, and there is no capacity": {
			unload: says(v1alpha1.ReasonQueued), how: func(s *steps.Situation) {
				s.Status().DetachStartTime, s.Status().DetachTimeout.Duration = new(metav1.NewTime(start.Add(-time.Hour))), time.Minute
			}, ran: "app unload", left: true, event: "Warning AgentLeft",
		},
		"the timeout has passed, and other pods come first": {
			unload: says(v1alpha1.ReasonQueued), how: func(s *steps.Situation) {
				s.Status().DetachStartTime, s.Status().DetachTimeout.Duration = new(metav1.NewTime(start.Add(-10*time.Minute))), time.Minute
			}, after: statemachine.QueuedFor, ran: "app unload", left: true, says: "The operator is detaching from the pod.",
		},
		"the container is gone": {unload: sees(), how: func(s *steps.Situation) { s.Pod.Status.ContainerStatuses = nil }},
		"the record was lost": {unload: sees(), how: func(s *steps.Situation) {
			s.Status().Containers, s.Status().Processes, s.Status().Revision = nil, nil, revision
		}, ran: "app inspect, app unload", event: "Normal Detached"},
	} {
		b, s := aBench(), servingPod()
		s.Status().DetachTimeout.Duration = 2 * time.Minute
		if !tc.published {
			s.Published = nil
		}
		if tc.how != nil {
			tc.how(s)
		}
		s.Exporter = nil // it is deleted
		b.helper.answers["app unload"] = tc.unload
		b.helper.answers["app inspect"] = sees(helperapi.Process{Target: aTarget, AgentJarOpen: true})
		result, err := b.of(s).detach(t.Context())
		if err != nil || result.RequeueAfter < tc.after/2 || result.RequeueAfter > tc.after*3/2 {
			t.Errorf("%s: got requeue after %s, %v, want about %s", name, result.RequeueAfter, err, tc.after)
		}
		if ran := strings.Join(b.helper.ran, ", "); ran != tc.ran {
			t.Errorf("%s: helper operations: got %q, want %q", name, ran, tc.ran)
		}
		left := false
		for i := range s.Status().Processes {
			left = left || record.MayHaveAgent(&s.Status().Processes[i])
		}
		ready := meta.FindStatusCondition(s.Status().Conditions, v1alpha1.ConditionReady)
		if left != tc.left || tc.says != "" && (ready == nil || !strings.Contains(ready.Message, tc.says) || strings.Contains(ready.Message, ": .")) {
			t.Errorf("%s: agent remains: %t; Ready: %+v", name, left, ready)
		}
		event := ""
		if len(b.recorder.Events) > 0 {
			event = <-b.recorder.Events
		}
		if !strings.HasPrefix(event, tc.event) || tc.event == "" && event != "" {
			t.Errorf("%s: Event: got %q, want %q", name, event, tc.event)
		}
	}
}

// The timeout of a detach counts from its begin, whatever its first operation returns: the
// begin is recorded before.
func TestDetachBegins(t *testing.T) {
	for name, lost := range map[string]bool{"agents are known": false, "the record was lost": true} {
		b, s := aBench(), servingPod()
		s.Exporter, s.Published = nil, nil
		if lost {
			s.Status().Containers, s.Status().Processes, s.Status().Revision = nil, nil, revision
		}
		ctx, end := context.WithCancel(t.Context())
		v := b.of(s)
		v.tools.Helper = &hanging{end: end}
		_, err := v.detach(ctx)
		if end(); !errors.Is(err, context.Canceled) || v.persisted.DetachStartTime == nil {
			t.Errorf("%s: got error %v and recorded begin %s", name, err, v.persisted.DetachStartTime)
		}
	}
}

// The last status of a detached pod lists no agent: deleting such a record leaves nothing
// in the pod.
func TestDetachedHasNoAgents(t *testing.T) {
	b, s := aBench(), servingPod()
	s.Published, s.Exporter = nil, nil
	b.helper.answers["app unload"] = sees()
	v := b.of(s)
	if result, err := v.detach(t.Context()); err != nil || result.RequeueAfter != 0 {
		t.Fatalf("got requeue after %s, %v, want none", result.RequeueAfter, err)
	}
	if left := v.persisted.Processes; len(left) > 0 {
		t.Errorf("processes in the last status: got %+v, want none", left)
	}
}

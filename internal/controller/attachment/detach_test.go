package attachment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The begin, the timeout and the expiry of a detach.
func TestBeginDetach(t *testing.T) {
	for name, tc := range map[string]struct {
		status  v1alpha1.JmxAttachmentStatus
		over    bool
		began   time.Duration // relative to now
		timeout time.Duration
	}{
		"the detach begins now":         {v1alpha1.JmxAttachmentStatus{Phase: v1alpha1.PhaseStaged, DetachTimeout: metav1.Duration{Duration: time.Hour}}, false, 0, time.Hour},
		"the exporter was never read":   {v1alpha1.JmxAttachmentStatus{}, false, 0, defaultDetachTimeout},
		"the detach began a moment ago": {began(-time.Minute), false, -time.Minute, time.Hour},
		"the timeout has just passed":   {began(-time.Hour), true, -time.Hour, time.Hour},
	} {
		b, s := aBench(), aScope()
		s.Attachment.Status = tc.status
		s.Status().Attempt = &v1alpha1.Attempt{}
		s.Status().Processes = []v1alpha1.JavaProcess{{Attempt: &v1alpha1.Attempt{}}}
		isNew := tc.status.DetachStartTime == nil
		if got := b.of(s).beginDetach(); got != tc.over {
			t.Errorf("%s: beginDetach: got %t, want %t", name, got, tc.over)
		}
		status := s.Status()
		if began := status.DetachStartTime.Sub(start); began != tc.began || status.DetachTimeout.Duration != tc.timeout {
			t.Errorf("%s: the detach began after %s, with timeout %s", name, began, status.DetachTimeout)
		}
		if gone := status.Attempt == nil && status.Processes[0].Attempt == nil; gone != isNew {
			t.Errorf("%s: attempts reset: got %t", name, gone)
		}
	}
}

func began(after time.Duration) v1alpha1.JmxAttachmentStatus {
	return v1alpha1.JmxAttachmentStatus{DetachStartTime: new(metav1.NewTime(start.Add(after))), DetachTimeout: metav1.Duration{Duration: time.Hour}}
}

// Whether a pod may have agents that its record does not know.
func TestRecordLost(t *testing.T) {
	inspected := []v1alpha1.InspectedContainer{{Name: "app", Time: new(metav1.NewTime(start))}}
	partly := func(reason string, processes ...v1alpha1.JavaProcess) v1alpha1.JmxAttachmentStatus {
		return v1alpha1.JmxAttachmentStatus{Containers: append(inspected, v1alpha1.InspectedContainer{Name: "worker", Reason: reason}), Processes: processes}
	}
	detaching := partly(v1alpha1.ReasonExecFailed)
	detaching.DetachStartTime = new(metav1.NewTime(start))
	found, loaded := v1alpha1.JavaProcess{AgentFound: true}, v1alpha1.JavaProcess{AgentFound: true, Intent: &v1alpha1.LoadIntent{}}
	for name, tc := range map[string]struct {
		status v1alpha1.JmxAttachmentStatus
		flag   string
		orphan bool
		want   bool
	}{
		"the pod was never inspected":                {v1alpha1.JmxAttachmentStatus{}, "", false, false},
		"the pod was inspected":                      {v1alpha1.JmxAttachmentStatus{Containers: inspected, Revision: revision}, "record", false, false},
		"the pod was attached to":                    {v1alpha1.JmxAttachmentStatus{Revision: revision}, "", false, true},
		"the pod was selected again during a detach": {v1alpha1.JmxAttachmentStatus{Processes: []v1alpha1.JavaProcess{{}}}, "", false, true},
		"the detach has begun":                       {began(0), "", false, true},
		"the record has no exporter":                 {v1alpha1.JmxAttachmentStatus{}, "", true, true},
		"one of two containers was inspected, with an agent of an earlier record": {partly(v1alpha1.ReasonExecFailed, found), "", false, true},
		"the second container waits for capacity":                                 {partly("", found), "", false, true},
		"the record loaded the agent":                                             {partly(v1alpha1.ReasonExecFailed, loaded), "record", false, false},
		"the stock exporter is adopted":                                           {partly(v1alpha1.ReasonExecFailed, v1alpha1.JavaProcess{Adopted: true}), "record", false, false},
		"the second container can never be inspected":                             {partly(v1alpha1.ReasonNoShell, found), "", false, false},
		"one of two containers was inspected, and the pod has annotations":        {partly(v1alpha1.ReasonExecFailed), "record", false, true},
		"one of two containers was inspected, and the detach has begun":           {detaching, "", false, true},
		"one of two containers was inspected, and has no agent":                   {partly(v1alpha1.ReasonExecFailed, v1alpha1.JavaProcess{}), "", false, false},
		"the pod has annotations":                                                 {v1alpha1.JmxAttachmentStatus{}, "record", false, true},
	} {
		s := aScope()
		s.Attachment.Status = tc.status
		s.Pod.Annotations = map[string]string{v1alpha1.AnnotationFlag: tc.flag}
		if s.Attachment.Spec.Exporter.UID = "exporter"; tc.orphan {
			s.Attachment.Spec.Exporter.UID = ""
		}
		if got := aBench().of(s).recordLost(); got != tc.want {
			t.Errorf("%s: recordLost: got %t, want %t", name, got, tc.want)
		}
	}
}

// A detach that is called off keeps what was done to the pod: agents may be loaded, in an
// unknown state.
func TestBegin(t *testing.T) {
	s := servingScope()
	s.Status().DetachStartTime = &s.Now
	s.Status().Restart = &v1alpha1.Restart{Revision: "old"}
	v := aBench().of(s)
	v.begin()
	want := v1alpha1.JmxAttachmentStatus{Revision: revision, Processes: []v1alpha1.JavaProcess{{
		Container: "app", ContainerID: "containerd://1", PID: 7, StartTime: 11, Primary: true,
		Phase: v1alpha1.PhaseDiscovered, Intent: &v1alpha1.LoadIntent{ConfigSHA256: "config"},
	}}}
	if diff := cmp.Diff(want, *s.Status()); diff != "" || v.pod.Phase != "" {
		t.Errorf("phase %q, status (-want +got):\n%s", v.pod.Phase, diff)
	}
	for of, kept := range map[string]bool{"old": false, revision: true} {
		s := servingScope()
		s.Granted, s.Status().Restart = false, &v1alpha1.Restart{Revision: of}
		aBench().of(s).begin()
		if got := s.Status().Restart != nil; got != kept || s.Status().Revision != "" {
			t.Errorf("restart of revision %s kept: %t; revision of the status: %q", of, got, s.Status().Revision)
		}
	}
}

// Resuming retries the pod that halted the rollout, and nothing else.
func TestBeginResumed(t *testing.T) {
	for reason, cleared := range map[string]bool{
		v1alpha1.ReasonConfigRejected: true, v1alpha1.ReasonRestartedAfterAttach: true, v1alpha1.ReasonNoShell: false, v1alpha1.ReasonPortInUse: false,
	} {
		s := servingScope()
		s.Exporter.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
		s.Status().Revision, s.Status().Restart = revision, &v1alpha1.Restart{Revision: revision}
		s.Status().Processes[0].Reason = reason
		aBench().of(s).begin()
		if s.Status().Restart != nil || s.Status().Resume != steps.Resume(s.Exporter) || (s.Status().Processes[0].Reason == "") != cleared {
			t.Errorf("%s: status after resuming: %+v", reason, s.Status())
		}
		s.Status().Restart = &v1alpha1.Restart{Revision: revision}
		s.Status().Processes[0].Reason = reason
		aBench().of(s).begin()
		if s.Status().Restart == nil || s.Status().Processes[0].Reason != reason {
			t.Errorf("%s: a restart after resuming is dropped", reason)
		}
	}
}

// The steps of a detach: the endpoint is removed from the status before the agent is
// stopped; failures are retried until the timeout.
func TestDetach(t *testing.T) {
	for name, tc := range map[string]struct {
		unload    func() (*helperapi.Report, error)
		published bool
		how       func(*steps.Scope)
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
			unload: says(v1alpha1.ReasonAttachTimeout), how: func(s *steps.Scope) {
				s.Status().DetachStartTime, s.Status().DetachTimeout.Duration = new(metav1.NewTime(start.Add(-time.Hour))), time.Minute
			}, ran: "app unload", left: true, event: "Warning AgentLeft",
		},
		"the timeout has passed, and there is no capacity": {
			unload: says(v1alpha1.ReasonQueued), how: func(s *steps.Scope) {
				s.Status().DetachStartTime, s.Status().DetachTimeout.Duration = new(metav1.NewTime(start.Add(-time.Hour))), time.Minute
			}, ran: "app unload", left: true, event: "Warning AgentLeft",
		},
		"the timeout has passed, and other pods come first": {
			unload: says(v1alpha1.ReasonQueued), how: func(s *steps.Scope) {
				s.Status().DetachStartTime, s.Status().DetachTimeout.Duration = new(metav1.NewTime(start.Add(-10*time.Minute))), time.Minute
			}, after: statemachine.QueuedFor, ran: "app unload", left: true, says: "The operator is detaching from the pod.",
		},
		"the container is gone": {unload: sees(), how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }},
		"the record was lost": {unload: sees(), how: func(s *steps.Scope) {
			s.Status().Containers, s.Status().Processes, s.Status().Revision = nil, nil, revision
		}, ran: "app inspect, app unload", event: "Normal Detached"},
	} {
		b, s := aBench(), servingScope()
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
			left = left || steps.MayHaveAgent(&s.Status().Processes[i])
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
		b, s := aBench(), servingScope()
		s.Exporter, s.Published = nil, nil
		if lost {
			s.Status().Containers, s.Status().Processes, s.Status().Revision = nil, nil, revision
		}
		ctx, end := context.WithCancel(t.Context())
		v := b.of(s)
		s.Helper = &hanging{end: end}
		_, err := v.detach(ctx)
		if end(); !errors.Is(err, context.Canceled) || v.persisted.DetachStartTime == nil {
			t.Errorf("%s: got error %v and recorded begin %s", name, err, v.persisted.DetachStartTime)
		}
	}
}

// The last status of a detached pod lists no agent: deleting such a record leaves nothing
// in the pod.
func TestDetachedHasNoAgents(t *testing.T) {
	b, s := aBench(), servingScope()
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

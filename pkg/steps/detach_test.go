package steps

import (
	"github.com/google/go-cmp/cmp"

	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The record of a failed pod waits for the halt of its rollout only as long as the
// exporter's controller will still write one.
func TestAwaitHalt(t *testing.T) {
	for name, tc := range map[string]struct {
		how   func(*scene)
		waits bool
	}{
		"the pod failed soon after an attach":     {how: func(*scene) {}, waits: true},
		"the exporter has no window":              {how: func(s *scene) { s.Exporter.Spec.Rollout.RestartWindow = nil }},
		"the pod failed later":                    {how: func(s *scene) { s.Now = metav1.NewTime(start.Add(time.Hour)) }},
		"the pod still runs":                      {how: func(s *scene) { s.Pod.Status.Phase = corev1.PodRunning }},
		"the rollout is halted":                   {how: func(s *scene) { s.Exporter.Status.Halt = &v1alpha1.Halt{Revision: revision} }},
		"the exporter is terminating":             {how: func(s *scene) { s.Exporter.DeletionTimestamp = new(s.Now) }},
		"the exporter has another revision":       {how: func(s *scene) { s.Exporter.Status.Revision = "next" }},
		"the revision has not reached the pod":    {how: func(s *scene) { s.Status().Revision = "old" }},
		"the revision was granted after the exit": {how: func(s *scene) { s.Attachment.Spec.Revision, s.Exporter.Status.Revision = "next", "next" }},
	} {
		s := aPod()
		s.Exporter.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "a"}
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
		s.Pod.Labels, s.Pod.Status.Phase = map[string]string{"app": "a"}, corev1.PodFailed
		s.Status().Revision = revision
		s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{Time: metav1.NewTime(start.Add(-time.Second))}
		tc.how(s)
		s.Begun = s.Status()
		if s.Former = s.Exporter; !s.Exporter.DeletionTimestamp.IsZero() { // internal/controller/attachment
			s.Former = nil
		}
		moves, err := AwaitHalt(s.Situation)
		if err != nil || (len(moves) > 0) != tc.waits {
			t.Fatalf("%s: waits: got %v, %v, want %t", name, moves, err, tc.waits)
		}
		if tc.waits {
			note := moves[0].(NoteFailure)
			if diff := cmp.Diff([]Move{note, Hold{haltTimeout}}, moves); diff != "" || note.Restart.Revision != revision {
				t.Errorf("%s: got restart %+v and moves (-want +got):\n%s", name, note.Restart, diff)
			}
		}
	}
}

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
		s := aPod()
		s.Attachment.Status = tc.status
		s.Status().Attempt = &v1alpha1.Attempt{}
		s.Status().Processes = []v1alpha1.JavaProcess{{Attempt: &v1alpha1.Attempt{}}}
		s.Begun, s.Time = s.Status().DeepCopy(), s.Now.Time
		isNew := tc.status.DetachStartTime == nil
		if got := s.DetachIsOver(); got != tc.over {
			t.Errorf("%s: DetachIsOver: got %t, want %t", name, got, tc.over)
		}
		moves, err := Release(s.Situation)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moves {
			if m, ok := m.(BeginDetach); ok {
				_ = m.Apply(s.Situation)
			}
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
		s := aPod()
		s.Attachment.Status = tc.status
		s.Pod.Annotations = map[string]string{v1alpha1.AnnotationFlag: tc.flag}
		if s.Attachment.Spec.Exporter.UID = "exporter"; tc.orphan {
			s.Attachment.Spec.Exporter.UID = ""
		}
		s.Begun = s.Status()
		if got := s.recordLost(); got != tc.want {
			t.Errorf("%s: recordLost: got %t, want %t", name, got, tc.want)
		}
	}
}

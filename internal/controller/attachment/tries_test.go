package attachment

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A reconcile that only finds no capacity writes nothing, and what cannot be observed or
// decided a second time is written nevertheless.
func TestQueuedWritesNothing(t *testing.T) {
	isNew := func(s *steps.Situation) { *s.Status() = v1alpha1.JmxAttachmentStatus{} }
	changed := func(s *steps.Situation) { s.Config.SHA256 = "other" }
	for name, tc := range map[string]struct {
		how    func(*bench, *steps.Situation)
		writes bool
	}{
		"the pod is new":            {how: func(_ *bench, s *steps.Situation) { isNew(s) }},
		"the configuration changed": {how: func(_ *bench, s *steps.Situation) { changed(s) }},
		"another container is inspected": {writes: true, how: func(b *bench, s *steps.Situation) {
			isNew(s)
			s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: "a"})
			s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: "a", ContainerID: "containerd://2", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			})
			b.helper.answers["a inspect"] = says(v1alpha1.ReasonQueued)
			b.helper.answers["app inspect"] = sees(helperapi.Process{Target: aTarget})
		}},
		"an Event says that the annotations are lost": {writes: true, how: func(_ *bench, s *steps.Situation) {
			changed(s)
			s.Status().Phase = v1alpha1.PhaseAnnotated
			s.Status().Reason = ""
		}},
		"the agent reports": {writes: true, how: func(_ *bench, s *steps.Situation) {
			changed(s)
			s.EndpointHealth = map[record.ProcessIdentity]steps.Health{
				record.Identity(&s.Status().Processes[0]): {CheckedFrom: v1alpha1.CheckedFromPod},
			}
		}},
		"the pod was being detached": {writes: true, how: func(_ *bench, s *steps.Situation) { s.Status().DetachStartTime = new(s.Now) }},
	} {
		b, s := aBench(), servingPod()
		b.helper.answers["app inspect"] = says(v1alpha1.ReasonQueued)
		tc.how(b, s)
		var events recording
		b.Recorder = &events
		result, err := b.of(s).attach(t.Context())
		if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > statemachine.QueuedFor {
			t.Errorf("%s: requeue after: got %s, %v; want at most %s", name, result.RequeueAfter, err, statemachine.QueuedFor)
		}
		if got := b.api.writes > 0; got != tc.writes || !tc.writes && len(events) > 0 {
			t.Errorf("%s: written: got %t with Events %v, want %t", name, got, events, tc.writes)
		}
	}
}

package attachment

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The record of a failed pod waits for the halt of its rollout only as long as the
// exporter's controller will still write one.
func TestAwaitHalt(t *testing.T) {
	for name, tc := range map[string]struct {
		how   func(*steps.Scope)
		waits bool
	}{
		"the pod failed soon after an attach":     {how: func(*steps.Scope) {}, waits: true},
		"the exporter has no window":              {how: func(s *steps.Scope) { s.Exporter.Spec.Rollout.RestartWindow = nil }},
		"the pod failed later":                    {how: func(s *steps.Scope) { s.Now = metav1.NewTime(start.Add(time.Hour)) }},
		"the pod still runs":                      {how: func(s *steps.Scope) { s.Pod.Status.Phase = corev1.PodRunning }},
		"the rollout is halted":                   {how: func(s *steps.Scope) { s.Exporter.Status.Halt = &v1alpha1.Halt{Revision: revision} }},
		"the exporter is terminating":             {how: func(s *steps.Scope) { s.Exporter.DeletionTimestamp = new(s.Now) }},
		"the exporter has another revision":       {how: func(s *steps.Scope) { s.Exporter.Status.Revision = "next" }},
		"the revision has not reached the pod":    {how: func(s *steps.Scope) { s.Status().Revision = "old" }},
		"the revision was granted after the exit": {how: func(s *steps.Scope) { s.Attachment.Spec.Revision, s.Exporter.Status.Revision = "next", "next" }},
	} {
		s, b := aScope(), aBench()
		s.Exporter.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "a"}
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
		s.Pod.Labels, s.Pod.Status.Phase = map[string]string{"app": "a"}, corev1.PodFailed
		s.Status().Revision = revision
		s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{Time: metav1.NewTime(start.Add(-time.Second))}
		tc.how(s)
		b.clock.SetTime(s.Now.Time)
		found := subjects{pod: s.Pod, exporter: s.Exporter}
		for range 2 { // waiting longer takes no further write
			waits, err := b.awaitHalt(t.Context(), s.Attachment, found)
			if err != nil || waits != tc.waits {
				t.Errorf("%s: waits: got %t, want %t (%v)", name, waits, tc.waits, err)
			}
		}
		if restart := s.Status().Restart; tc.waits != (restart != nil) || tc.waits && (restart.Revision != revision || b.api.writes != 1) {
			t.Errorf("%s: got restart %+v after %d writes", name, restart, b.api.writes)
		}
	}
}

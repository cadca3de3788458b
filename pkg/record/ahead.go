package record

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// NotAhead replaces the times of a status that no operator with this clock can have
// written: the clock of an earlier leader was ahead. What began in the future begins now,
// and a retry that is further ahead than the longest backoff is due. Otherwise everything
// would wait until the clock has caught up.
func NotAhead(status *v1alpha1.JmxAttachmentStatus, now time.Time) {
	begun := func(t *metav1.Time) {
		if t != nil && t.After(now) {
			*t = metav1.NewTime(now).Rfc3339Copy()
		}
	}
	due := func(a *v1alpha1.Attempt) {
		if a != nil && a.NextTime != nil && a.NextTime.Sub(now) > statemachine.MaxBackoff+time.Second { // which is rounded up
			begun(a.NextTime)
		}
	}
	begun(status.DetachStartTime)
	due(status.Attempt)
	for i := range status.Conditions {
		begun(&status.Conditions[i].LastTransitionTime)
	}
	for i := range status.Containers {
		begun(status.Containers[i].Time)
		due(status.Containers[i].Attempt)
	}
	for i := range status.Processes {
		p := &status.Processes[i]
		due(p.Attempt)
		if p.Intent != nil {
			begun(&p.Intent.Time)
		}
		if p.Losses != nil {
			begun(&p.Losses.LastTime)
		}
	}
	if status.Restart != nil {
		begun(status.Restart.Time)
	}
	if status.Restores != nil {
		begun(&status.Restores.LastTime)
	}
}

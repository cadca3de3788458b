package exporter

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// rollout updates an exporter's pods to one revision, a few at a time. It is recomputed
// from the records each time and has no state of its own.
type rollout struct {
	revision string
	// resume identifies the exporter's annotation: failures from before its last change
	// no longer count.
	resume string
	limits v1alpha1.Rollout
	halt   *v1alpha1.Halt
	// restarts are the pods that count towards a halt, and whether they pause the rollout;
	// nil for none.
	restarts *v1alpha1.Restarts
	now      time.Time
	// failed counts the failed pods whose record may halt the rollout.
	failed int32
}

// current reports whether a record is one of a pod with the current revision, and of no
// time before the rollout was resumed.
func (r *rollout) current(a *v1alpha1.JmxAttachment) bool {
	return a.Spec.Revision == r.revision && a.Status.Revision == r.revision && a.Status.Resume == r.resume
}

// window returns spec.rollout.restartWindow; 0 if it is disabled.
func (r *rollout) window() time.Duration {
	return ptr.Deref(r.limits.RestartWindow, metav1.Duration{}).Duration
}

// seconds returns the current time as the API keeps it.
func (r *rollout) seconds() metav1.Time { return metav1.NewTime(r.now).Rfc3339Copy() }

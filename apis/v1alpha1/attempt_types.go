package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Attempt counts the attempts to reach a condition that does not hold.
type Attempt struct {
	// key identifies what the attempts depend on: the pod's containers, the
	// configuration, the exporter. The count restarts when it changes.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`
	// phase is the phase that the attempts should reach.
	// +required
	Phase Phase `json:"phase"`
	// count is the number of failed attempts.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastError is the error of the last attempt.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastError string `json:"lastError,omitempty"`
	// nextTime is the time of the next attempt without an event; absent if only an event
	// triggers one.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

// Tries returns the number of failed attempts; 0 for a nil Attempt.
func (a *Attempt) Tries() int32 {
	if a == nil {
		return 0
	}
	return a.Count
}

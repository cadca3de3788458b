package statemachine

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Record is the part of a status that the engine reads and writes. A status embeds it:
//
//	statemachine.Record `json:",inline"`
//
// A Walk changes its State, and Vocabulary.Report its conditions.
//
// +kubebuilder:object:generate=true
type Record struct {
	// observedGeneration is the generation that this status is of; -1 before the
	// first reconcile, where the kind has that default.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	State `json:",inline"`

	// conditions has one condition per phase, and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

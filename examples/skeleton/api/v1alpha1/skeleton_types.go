package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Skeleton runs an image in a Deployment of its name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=skeletons
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The last phase that holds"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="Available replicas"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Skeleton struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what is wanted.
	// +required
	Spec SkeletonSpec `json:"spec"`
	// status is what was observed.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status SkeletonStatus `json:"status,omitzero"`
}

// SkeletonList is a list of Skeletons.
//
// +kubebuilder:object:root=true
type SkeletonList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Skeleton `json:"items"`
}

// SkeletonSpec is what is wanted.
type SkeletonSpec struct {
	// image is run in each pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
	// replicas is the number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`
}

// SkeletonStatus is what was observed.
type SkeletonStatus struct {
	// observedGeneration is the generation that this status is of; -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the last one that holds: Planned, Deployed or RolledOut.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Phase string `json:"phase,omitempty"`
	// reason and message say why the next phase does not hold; empty when all hold.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// replicas counts the pods that are available.
	// +optional
	Replicas int32 `json:"replicas"`
	// attempt counts what was tried for the next phase and did not succeed.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
	// conditions are Deployed, RolledOut and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Attempt counts what was tried and did not succeed.
type Attempt struct {
	// key names what the attempt depends on.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Key string `json:"key"`
	// phase is the one that was tried.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Phase string `json:"phase"`
	// count is how often it was tried.
	// +required
	Count int32 `json:"count"`
	// lastError is the error of the last try.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastError string `json:"lastError,omitempty"`
	// nextTime is when it is tried again without an event.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

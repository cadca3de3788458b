package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
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

// SkeletonStatus is what was observed. The phases are Planned, Deployed and RolledOut.
type SkeletonStatus struct {
	statemachine.Record `json:",inline"`
	// replicas counts the pods that are available.
	// +optional
	Replicas int32 `json:"replicas"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout controls how first attaches, and changes of configuration, port or agent,
// reach the pods. A pod that has the current revision needs no slot when its container
// restarts.
type Rollout struct {
	// maxConcurrent is the maximum number of pods updated at once.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`
	// maxConcurrentPerNode is the maximum number of these pods per node.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrentPerNode int32 `json:"maxConcurrentPerNode,omitempty"`
	// canary configures the pods that go first.
	// +optional
	// +kubebuilder:default={}
	Canary Canary `json:"canary,omitzero"`
	// restartWindow is the time after an attach or a change within which the exit of a
	// container counts as its effect, unless the pod's status explains the exit; a later
	// effect is not seen. The first such exit pauses the rollout for this time;
	// haltThreshold says which one halts it. A container that is younger than this is
	// attached to when it is ready. One that has restarted is attached to when it has run
	// for ten minutes, unless an instance of it served for as long with the current
	// revision. Nothing is attached or changed from two windows before to one window after
	// the age at which its previous instance exited. 0s disables all this.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="cannot be negative"
	RestartWindow *metav1.Duration `json:"restartWindow,omitempty"`
	// haltThreshold is the number of pods, or the percentage of those that have the
	// current revision, in which a container must have exited within restartWindow after
	// an attach or a change to halt the rollout. A percentage is rounded up, and is at
	// least two pods. 1 halts the rollout at the first exit; with any other value, two
	// pods within one restartWindow halt it as well, and so do 100 pods. While the rollout
	// is halted, the operator attaches to no pod and applies no change until the
	// configuration, port, containers or processes change, or the annotation
	// banzaicloud.com/resume-rollout gets a new value; only a container that served for
	// ten minutes with the revision gets it again when it restarts.
	// +optional
	// +kubebuilder:default="1%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^([1-9][0-9]?|100)%?$')",message="must be 1 to 100, or 1% to 100%"
	HaltThreshold *intstr.IntOrString `json:"haltThreshold,omitempty"`
}

// Canary configures the pods that go first: no other pod is updated before they serve.
type Canary struct {
	// count is the number of canaries; 0 for none.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Count *int32 `json:"count,omitempty"`
	// minReadySeconds is how long the canaries must have been Exposed before other pods
	// follow.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// Detach controls how the operator detaches from pods.
type Detach struct {
	// timeout is how long the operator tries to detach from a pod. After that, it
	// deletes the record, and an Event names the agent that stays loaded.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="cannot be negative"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

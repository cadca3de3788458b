package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// restartWindow is the time after an attach within which a container restart halts
	// the rollout: the operator attaches to no pod and applies no change until the
	// configuration, port, containers or processes change, or the annotation
	// banzaicloud.com/resume-rollout gets a new value. If a container has restarted
	// before, the operator neither attaches nor changes anything from two windows before
	// to one window after the age at which its previous instance exited, because the next
	// exit would not be the fault of the operator. 0s disables it.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="cannot be negative"
	RestartWindow *metav1.Duration `json:"restartWindow,omitempty"`
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

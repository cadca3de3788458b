package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Alerts configures the report of pods that have the labels and do not run.
type Alerts struct {
	// checkRunningPods lists in status.problemPods the pods that have the
	// labels and do not run as they should: pending, crashing, without their
	// image, failed. They need not run Java.
	// +optional
	CheckRunningPods bool `json:"checkRunningPods,omitempty"`
	// logLines is how many of the last lines of a failing container's log are
	// added, and of the instance before it. Logs may hold secrets: none by
	// default, and the operator needs the right to read pods/log for it
	// (config/logs).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	LogLines int32 `json:"logLines,omitempty"`
}

// ProblemPod is a pod that does not run as it should, or one of its containers
// that fail.
type ProblemPod struct {
	// pod is the pod's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// uid is the pod's UID.
	// +required
	UID types.UID `json:"uid"`
	// container is the container that fails; empty if it is the pod as a whole.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// reason is the kubelet's, the scheduler's or the pod's own, such as
	// CrashLoopBackOff, ImagePullBackOff, Unschedulable or Evicted.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message is the sentence to that reason.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// restartCount is how often the container was restarted.
	// +optional
	RestartCount int32 `json:"restartCount"`
	// log are the last lines of the container's log.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Log string `json:"log,omitempty"`
	// previousLog are the last lines of the log of the instance before it.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	PreviousLog string `json:"previousLog,omitempty"`
}

package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Alerts configures the report of selected pods that do not run.
type Alerts struct {
	// checkRunningPods lists in status.problemPods the selected pods that
	// do not run as they should: pending, crashing, without their image, failed. They
	// need not run Java.
	// +optional
	CheckRunningPods bool `json:"checkRunningPods,omitempty"`
	// logLines is the number of lines from the end of a failing container's log, and of
	// its previous instance's, to include. Logs may contain secrets, so the default is
	// none. The operator needs the right to read pods/log (config/logs).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	LogLines int32 `json:"logLines,omitempty"`
}

// ProblemPod is a pod that does not run as it should, or one of its failing containers.
type ProblemPod struct {
	// pod is the pod's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// uid is the pod's UID.
	// +required
	UID types.UID `json:"uid"`
	// container is the failing container; empty if the problem is with the pod as a
	// whole.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// reason is the reason given by the kubelet or the scheduler, or that of the pod's
	// own status, such as CrashLoopBackOff, ImagePullBackOff, Unschedulable or Evicted.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message explains the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// restartCount is the number of restarts of the container.
	// +optional
	RestartCount int32 `json:"restartCount"`
	// log has the last lines of the container's log.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Log string `json:"log,omitempty"`
	// previousLog has the last lines of the log of the container's previous instance.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	PreviousLog string `json:"previousLog,omitempty"`
}

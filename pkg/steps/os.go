package steps

import (
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// runsWindows reports whether the pod declares Windows containers: by spec.os, or by the
// node selector that the scheduler needs otherwise. The helper is a Linux program, and
// no shell there runs it.
func runsWindows(pod *corev1.Pod) bool {
	if pod.Spec.OS != nil {
		return pod.Spec.OS.Name == corev1.Windows
	}
	return pod.Spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows)
}

func unsupportedOS() statemachine.Outcome {
	return NotDone(v1alpha1.ReasonUnsupportedOS,
		"The pod runs on Windows (spec.os or the node selector kubernetes.io/os); only Linux containers can be attached to. Exclude it with spec.labelSelector, or with the annotation "+v1alpha1.AnnotationOptOut+": \"true\".")
}

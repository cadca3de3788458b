package steps

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

const revision = "new"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// aPod returns a pod with one running container, app, and its JVM.
func aPod() *scene {
	s := &scene{Situation: &Situation{
		Observed: Observed{
			Operator: Operator{Artifacts: &Artifacts{}, HealthChecks: true},
			Pod:      &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{}, Begun: &v1alpha1.JmxAttachmentStatus{}, Now: metav1.NewTime(start),
		},
		Record: record.Record{Attachment: &v1alpha1.JmxAttachment{}},
	}}
	s.Attachment.Name, s.Attachment.Spec.Revision = "record", revision
	s.Exporter.Status.Revision = revision
	s.Pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	s.Pod.Status.PodIP = "10.0.0.1"
	s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	s.Status().Processes = []v1alpha1.JavaProcess{{
		Container: "app", ContainerID: "containerd://1", PID: 7, StartTime: 11, Phase: v1alpha1.PhaseJavaFound,
	}}
	return s
}

// servingPod returns a pod whose JVM serves and was probed by the operator.
func servingPod() *scene {
	s := aPod()
	s.Granted = true
	s.Status().Phase, s.Status().Reason = v1alpha1.PhaseExposed, v1alpha1.ReasonNotReached
	s.Status().Containers = []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "containerd://1", Time: new(s.Now)}}
	p := &s.Status().Processes[0]
	p.Phase, p.Port, p.ConfigSHA256, p.Primary = v1alpha1.PhaseExposed, 9400, "config", true
	p.Staged, p.Intent = &v1alpha1.StagedFiles{ConfigSHA256: "config"}, &v1alpha1.LoadIntent{ConfigSHA256: "config"}
	p.Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400, CheckedFrom: v1alpha1.CheckedFromOperator}
	s.Config.SHA256 = "config"
	s.Published = []PublishedEndpoint{{Address: "10.0.0.1", Port: 9400}}
	return s
}

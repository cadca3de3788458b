package problem

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

var now = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// ago returns the time this many seconds before now.
func ago(seconds int) metav1.Time {
	return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second))
}

func exporter(before ...v1alpha1.ProblemPod) *v1alpha1.PrometheusJmxExporter {
	e := &v1alpha1.PrometheusJmxExporter{}
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
	e.Spec.Alerts.CheckRunningPods = true
	e.Status.ProblemPods = before
	return e
}

// aPod returns a pod with the containers app and side, and an init container, without any
// container status yet. It is an hour old.
func aPod(phase corev1.PodPhase, how ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{}
	pod.Name, pod.UID = "app-0", "uid-0"
	pod.Labels = map[string]string{"app": "dummyapp"}
	pod.CreationTimestamp = ago(3600)
	pod.Spec.NodeName = "node-1"
	pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	pod.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: "side"}}
	pod.Status.Phase = phase
	for _, h := range how {
		h(&pod)
	}
	return pod
}

func is(name string, restarts int32, state corev1.ContainerState, last ...corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		s := corev1.ContainerStatus{Name: name, RestartCount: restarts, State: state}
		if len(last) > 0 {
			s.LastTerminationState = last[0]
		}
		if name == "init" {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, s)
		} else {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
		}
	}
}

func runs(since metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
}

var fine = runs(ago(3000))

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func exits(code int32, reason string, at metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: at, FinishedAt: at}}
}

// since is the state of an instance that started at a time and exited.
func since(started metav1.Time, state corev1.ContainerState) corev1.ContainerState {
	state.Terminated.StartedAt = started
	return state
}

func saying(state corev1.ContainerState, message string) corev1.ContainerState {
	state.Terminated.Message = message
	return state
}

func isScheduled(status corev1.ConditionStatus, reason, message string, at metav1.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: status, Reason: reason, Message: message, LastTransitionTime: at,
		})
	}
}

func says(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Reason, pod.Status.Message = reason, message }
}

func created(at metav1.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = at }
}

func onNoNode(pod *corev1.Pod) { pod.Spec.NodeName = "" }

func terminating(pod *corev1.Pod) { pod.DeletionTimestamp = new(ago(10)) }

func never(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }

func onFailure(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }

// restartsOn makes the container app restart only on an exit code.
func restartsOn(code int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		app := &pod.Spec.Containers[0]
		app.RestartPolicy = new(corev1.ContainerRestartPolicyNever)
		app.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestart,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
		}}
	}
}

func sidecar(pod *corev1.Pod) {
	pod.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
}

// line formats an entry.
func line(e v1alpha1.ProblemPod) string {
	return fmt.Sprintf("%s/%s %s x%d: %s", e.Pod, e.Container, e.Reason, e.RestartCount, e.Message)
}

func entry(container, reason string, restarts int32, message string) *v1alpha1.ProblemPod {
	return &v1alpha1.ProblemPod{Pod: "app-0", UID: "uid-0", Container: container, Reason: reason, RestartCount: restarts, Message: message}
}

const (
	slow     = "The container has been waiting to start for more than a minute; see kubectl describe pod"
	exited1  = "The container terminated with exit code 1 (Error)"
	exited0  = "The container terminated with exit code 0 (Completed)"
	exited2  = "The container terminated with exit code 137 (OOMKilled)"
	backOff  = "back-off 40s restarting failed container=app pod=app-0_default(uid-0)"
	notFound = `rpc error: code = NotFound desc = failed to pull and unpack image "registry.example/app:1": not found`
)

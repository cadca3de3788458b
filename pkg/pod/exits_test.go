package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What explains the exits of a pod's containers, and what at least pauses.
func TestExplained(t *testing.T) {
	target := func(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.DisruptionTarget, Status: status, Reason: reason}}
		}
	}
	failed := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
		}
	}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	for name, tc := range map[string]struct {
		how      []func(*corev1.Pod)
		want     bool
		pressure bool
	}{
		"the pod runs":             {},
		"the pod failed by itself": {how: []func(*corev1.Pod){failed("", "")}},
		"the pod is deleted":       {how: []func(*corev1.Pod){deleted}, want: true},
		"the node shuts down":      {how: []func(*corev1.Pod){failed("Terminated", "")}, want: true},
		"a rejected start":         {how: []func(*corev1.Pod){failed("NodeShutdown", "")}, want: true},
		"a label of the node":      {how: []func(*corev1.Pod){failed("NodeAffinity", "")}, want: true},
		"the kubelet preempts":     {how: []func(*corev1.Pod){failed("Preempting", "")}, want: true},
		"the deadline has passed":  {how: []func(*corev1.Pod){failed("DeadlineExceeded", "")}, want: true},
		"the eviction API":         {how: []func(*corev1.Pod){target(corev1.ConditionTrue, "EvictionByEvictionAPI")}, want: true},
		"a disruption, no reason":  {how: []func(*corev1.Pod){target(corev1.ConditionTrue, "")}, want: true},
		"a disruption that failed": {how: []func(*corev1.Pod){target(corev1.ConditionFalse, "EvictionByEvictionAPI")}},
		"the limit of a container": {how: []func(*corev1.Pod){failed("Evicted", `Container app exceeded its local ephemeral storage limit "10Mi". `)}},
		"the limit of the pod":     {how: []func(*corev1.Pod){failed("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ")}},
		"the limit of a volume":    {how: []func(*corev1.Pod){failed("Evicted", `Usage of EmptyDir volume "tmp" exceeds the limit "10Mi". `)}},
		"the limit of a volume, with a condition": {how: []func(*corev1.Pod){
			target(corev1.ConditionTrue, "TerminationByKubelet"), failed("Evicted", `Usage of EmptyDir volume "tmp" exceeds the limit "10Mi". `),
		}},
		"the limit of a volume, and the pod is deleted": {how: []func(*corev1.Pod){deleted, failed("Evicted", `Usage of EmptyDir volume "tmp" exceeds the limit "10Mi". `)}},
		"the node lacks memory":                         {how: []func(*corev1.Pod){target(corev1.ConditionTrue, "TerminationByKubelet"), failed("Evicted", "The node was low on resource: memory. ")}, pressure: true},
	} {
		pod := &corev1.Pod{}
		for _, how := range tc.how {
			how(pod)
		}
		if got, pressure := Explained(pod), UnderPressure(pod); got != tc.want || pressure != tc.pressure {
			t.Errorf("%s: explained: %t, under pressure: %t; want %t, %t", name, got, pressure, tc.want, tc.pressure)
		}
	}
}

func TestMayBeEnding(t *testing.T) {
	terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for name, tc := range map[string]struct {
		phase corev1.PodPhase
		state corev1.ContainerState
		want  bool
	}{
		"the container runs again":    {phase: corev1.PodRunning, state: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		"the container backs off":     {phase: corev1.PodRunning, state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
		"the container terminated":    {phase: corev1.PodRunning, state: terminated, want: true},
		"the pod failed":              {phase: corev1.PodFailed, state: terminated},
		"another container has ended": {phase: corev1.PodRunning},
	} {
		pod := &corev1.Pod{}
		pod.Status.Phase = tc.phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: tc.state}, {Name: "other", State: terminated}}
		if got := MayBeEnding(pod, "app"); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

func TestCompleted(t *testing.T) {
	restarts := func(operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) *corev1.ContainerRestartRule {
		return &corev1.ContainerRestartRule{
			Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes},
		}
	}
	for name, tc := range map[string]struct {
		pod  corev1.RestartPolicy
		own  *corev1.ContainerRestartPolicy
		code int32
		rule *corev1.ContainerRestartRule
		want bool
	}{
		"a container whose rule restarts it":      {pod: corev1.RestartPolicyNever, own: new(corev1.ContainerRestartPolicyNever), rule: restarts(corev1.ContainerRestartRuleOnExitCodesOpIn, 0, 1)},
		"a container whose rule does not concern": {pod: corev1.RestartPolicyNever, own: new(corev1.ContainerRestartPolicyNever), rule: restarts(corev1.ContainerRestartRuleOnExitCodesOpIn, 1), want: true},
		"a container whose rule restarts others":  {pod: corev1.RestartPolicyNever, own: new(corev1.ContainerRestartPolicyNever), rule: restarts(corev1.ContainerRestartRuleOnExitCodesOpNotIn, 1)},
		"a service exits":                         {pod: corev1.RestartPolicyAlways},
		"a job succeeds":                          {pod: corev1.RestartPolicyNever, want: true},
		"a job that is retried succeeds":          {pod: corev1.RestartPolicyOnFailure, want: true},
		"a job fails":                             {pod: corev1.RestartPolicyNever, code: 1},
		"a container of its own policy":           {pod: corev1.RestartPolicyAlways, own: new(corev1.ContainerRestartPolicyNever), want: true},
		"a sidecar of a job exits":                {pod: corev1.RestartPolicyNever, own: new(corev1.ContainerRestartPolicyAlways)},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: tc.pod, Containers: []corev1.Container{{Name: "app", RestartPolicy: tc.own}}}}
		if tc.rule != nil {
			pod.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{*tc.rule}
		}
		if got := Completed(pod, "app", &corev1.ContainerStateTerminated{ExitCode: tc.code}); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

// The digest changes with what is enacted, for resources whose resize restarts the
// container only.
func TestRestartingResources(t *testing.T) {
	of := func(memory, cpu string, policies ...corev1.ContainerResizePolicy) string {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", ResizePolicy: policies}}}}
		status := corev1.ContainerStatus{Name: "app"}
		if memory != "" {
			status.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceCPU: resource.MustParse(cpu)}}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		return RestartingResources(pod, "app")
	}
	restarts := corev1.ContainerResizePolicy{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}
	keeps := corev1.ContainerResizePolicy{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}
	before := of("1Gi", "1", restarts, keeps)
	switch {
	case of("1Gi", "1", keeps) != "" || of("1Gi", "1") != "" || of("", "", restarts) != "":
		t.Error("a digest without resources whose resize restarts the container")
	case len(before) != 64 || before != of("1Gi", "2", restarts, keeps):
		t.Error("the digest changes with resources that are resized in place")
	case before == of("2Gi", "1", restarts, keeps):
		t.Error("the digest stays the same after a resize that restarts the container")
	}
}

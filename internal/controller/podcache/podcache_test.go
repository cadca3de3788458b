package podcache

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var at = metav1.NewTime(time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC))

// full returns a pod with all fields that are read, and others beside them.
func full() *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.UID, pod.ResourceVersion = "app-0", "uid-0", "1"
	pod.Annotations = map[string]string{
		"prometheus.io/scrape": "true", "banzaicloud.com/jmx-exporter-opt-out": "true", "example.com/owner": "team-a",
		"kubernetes.io/config.mirror": "8c2b", "kubernetes.io/config.hash": "8c2b",
	}
	pod.Spec.NodeName, pod.Spec.RestartPolicy = "node-1", corev1.RestartPolicyOnFailure
	pod.Spec.OS, pod.Spec.NodeSelector = &corev1.PodOS{Name: corev1.Windows}, map[string]string{corev1.LabelOSStable: "windows", "example.com/disk": "fast"}
	pod.Spec.InitContainers = []corev1.Container{{Name: "proxy", Image: "x", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "x", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}, RestartPolicyRules: []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}}}
	pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
		{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
	}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))}
	pod.Spec.InitContainers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(false), Capabilities: &corev1.Capabilities{
		Add: []corev1.Capability{"SYS_ADMIN"}, Drop: []corev1.Capability{"ALL"},
	}}
	pod.Spec.HostNetwork, pod.Spec.HostPID, pod.Spec.HostIPC, pod.Spec.ShareProcessNamespace = true, true, true, new(true)
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp", ReadOnly: true}}
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"), corev1.ResourceMemory: resource.MustParse("2Gi"),
	}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}},
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}}},
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.1", HostIP: "10.0.1.1", Reason: "Evicted", Message: "The node was low on memory.\nmore",
		StartTime: &at,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at, Reason: "ContainersNotReady"},
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: at, LastProbeTime: at, Reason: "Unschedulable", Message: "0/3 nodes are available"},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: at, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"},
		},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "proxy", Resources: resources, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", ContainerID: "containerd://1", RestartCount: 3, Image: "x", Ready: true, Resources: resources,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", Message: "password=hunter2", StartedAt: at, FinishedAt: at, ContainerID: "containerd://0",
			}},
		}},
	}
	return pod
}

// resources are kept of a container that a resize may restart.
var resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}

func trimmed(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	got, err := Trim(pod)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*corev1.Pod)
}

// Fields that are read are kept, others are dropped; trimming is idempotent.
func TestTrim(t *testing.T) {
	got := trimmed(t, full())
	want := &corev1.Pod{}
	want.Name, want.UID, want.ResourceVersion = "app-0", "uid-0", "1"
	want.Annotations = map[string]string{"prometheus.io/scrape": "true", "banzaicloud.com/jmx-exporter-opt-out": "true", "kubernetes.io/config.mirror": "8c2b"}
	want.Spec.NodeName, want.Spec.RestartPolicy = "node-1", corev1.RestartPolicyOnFailure
	want.Spec.OS, want.Spec.NodeSelector = &corev1.PodOS{Name: corev1.Windows}, map[string]string{corev1.LabelOSStable: "windows"}
	want.Spec.InitContainers = []corev1.Container{{
		Name: "proxy", Image: "x", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}},
	}}
	want.Spec.Containers = []corev1.Container{{Name: "app", Image: "x", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}, RestartPolicyRules: []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}}}
	want.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	want.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	want.Spec.HostNetwork, want.Spec.HostPID, want.Spec.HostIPC, want.Spec.ShareProcessNamespace = true, true, true, new(true)
	want.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp", ReadOnly: true}}
	want.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
	want.Spec.Volumes = []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}},
	}
	want.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.1", Reason: "Evicted", Message: "The node was low on memory",
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at},
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: at, Reason: "Unschedulable", Message: "0/3 nodes are available"},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"},
		},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", ContainerID: "containerd://1", RestartCount: 3, Ready: true, Resources: resources,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: at, FinishedAt: at, ContainerID: "containerd://0"}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, trimmed(t, got.DeepCopy())); diff != "" {
		t.Errorf("trimmed again (-before +after):\n%s", diff)
	}
}

// Messages are truncated, and trimming them again changes nothing.
func TestTrimBounds(t *testing.T) {
	pod := full()
	long := strings.Repeat("ä. ", 1000)
	pod.Status.Message = long
	pod.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: long}
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "StartError"
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message = long
	got := trimmed(t, pod)
	app := got.Status.ContainerStatuses[0]
	for _, message := range []string{got.Status.Message, app.State.Waiting.Message, app.LastTerminationState.Terminated.Message} {
		if len(message) == 0 || len(message) > maxMessage {
			t.Errorf("message: got %d bytes, want 1 to maxMessage", len(message))
		}
	}
	if diff := cmp.Diff(got, trimmed(t, got.DeepCopy())); diff != "" {
		t.Errorf("trimmed again (-before +after):\n%s", diff)
	}
}

// The changes that trigger the controllers.
func TestChanged(t *testing.T) {
	app := func(pod *corev1.Pod) *corev1.ContainerStatus { return &pod.Status.ContainerStatuses[0] }
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing changes":                      {func(*corev1.Pod) {}, false},
		"the probe time changes":               {func(pod *corev1.Pod) { pod.Status.Conditions[1].LastProbeTime = metav1.Time{} }, false},
		"the transition time of Ready changes": {func(pod *corev1.Pod) { pod.Status.Conditions[0].LastTransitionTime = metav1.Time{} }, true},
		"the back-off becomes longer":          {func(pod *corev1.Pod) { app(pod).State.Waiting.Message = "back-off 5m0s restarting" }, false},
		"the termination message changes":      {func(pod *corev1.Pod) { app(pod).LastTerminationState.Terminated.Message = "bye" }, false},
		"a label is added":                     {func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} }, true},
		"the pod opts in":                      {func(pod *corev1.Pod) { delete(pod.Annotations, "banzaicloud.com/jmx-exporter-opt-out") }, true},
		"the pod becomes ready":                {func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionTrue }, true},
		"a container restarts":                 {func(pod *corev1.Pod) { app(pod).RestartCount++ }, true},
		"the exit code changes":                {func(pod *corev1.Pod) { app(pod).LastTerminationState.Terminated.ExitCode = 2 }, true},
		"the waiting reason changes":           {func(pod *corev1.Pod) { app(pod).State.Waiting.Reason = "RunContainerError" }, true},
		"the scheduler's message changes":      {func(pod *corev1.Pod) { pod.Status.Conditions[1].Message = "Insufficient cpu" }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := full()
			after.ResourceVersion = "2"
			tc.change(after)
			if got := Changed(trimmed(t, full()), trimmed(t, after)); got != tc.want {
				t.Errorf("Changed: got %t, want %t", got, tc.want)
			}
		})
	}
}

// Of all mounts and volumes those are kept that show who can write to a /tmp, and what of the
// node is mounted.
func TestTrimMounts(t *testing.T) {
	at := func(volume, path string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: volume, MountPath: path, SubPath: "a", MountPropagation: new(corev1.MountPropagationNone)}
	}
	kept := func(volume, path string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: volume, MountPath: path, SubPath: "a"}
	}
	pod := full()
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{at("token", "/var/run/secrets"), at("tmp", "/tmp"), at("cache", "/cache"), at("node", "/node")}
	pod.Spec.InitContainers[0].VolumeMounts = []corev1.VolumeMount{at("cache", "/cache"), at("tmp", "/shared")}
	debugger := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger", Image: "x", VolumeMounts: []corev1.VolumeMount{at("tmp", "/mnt")}}}
	other := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "other", VolumeMounts: []corev1.VolumeMount{at("cache", "/mnt")}}}
	powerful := corev1.EphemeralContainer{TargetContainerName: "app", EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "powerful", Image: "x", SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))}}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{debugger, other, powerful}
	for _, c := range pod.Spec.EphemeralContainers {
		pod.Status.EphemeralContainerStatuses = append(pod.Status.EphemeralContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: "x", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Signal: 9}}})
	}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/tmp", Type: new(corev1.HostPathDirectory)}}},
		{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}},
	}
	got := trimmed(t, pod)
	want := trimmed(t, full())
	want.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{kept("tmp", "/tmp"), kept("node", "/node")}
	want.Spec.InitContainers[0].VolumeMounts = []corev1.VolumeMount{kept("tmp", "/shared")}
	want.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debugger", VolumeMounts: []corev1.VolumeMount{kept("tmp", "/mnt")},
	}}, {TargetContainerName: "app", EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "powerful", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}}
	want.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{
		{Name: "debugger", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}, {Name: "powerful", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
	}
	want.Spec.Volumes = []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/tmp"}}},
		{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, trimmed(t, got.DeepCopy())); diff != "" {
		t.Errorf("trimmed again (-before +after):\n%s", diff)
	}
}

// Memory limits are kept where the containers share one of the pod.
func TestTrimKeepsMemoryBelowPodLimit(t *testing.T) {
	memory := func(quantity string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	}
	pod := full()
	pod.Spec.Resources = &corev1.ResourceRequirements{Limits: memory("4Gi"), Requests: memory("1Gi")}
	pod.Spec.Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
	got := trimmed(t, pod)
	want := &corev1.ResourceRequirements{Limits: memory("4Gi")}
	if diff := cmp.Diff(want, got.Spec.Resources); diff != "" {
		t.Errorf("resources of the pod (-want +got):\n%s", diff)
	}
	if limit := got.Spec.Containers[0].Resources.Limits.Memory(); limit.String() != "2Gi" {
		t.Errorf("limit of the container: got %s, want 2Gi", limit)
	}
}

package problem

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

var now = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// ago is so many seconds before now.
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

// aPod has the containers app and side, and an init container, of all of which
// the kubelet says nothing yet. It is an hour old.
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

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func exits(code int32, reason string, at metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: at, FinishedAt: at}}
}

// since is a state that ended an instance that had started then.
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

// line is an entry as a line.
func line(e v1alpha1.ProblemPod) string {
	return fmt.Sprintf("%s/%s %s x%d: %s", e.Pod, e.Container, e.Reason, e.RestartCount, e.Message)
}

func entry(container, reason string, restarts int32, message string) *v1alpha1.ProblemPod {
	return &v1alpha1.ProblemPod{Pod: "app-0", UID: "uid-0", Container: container, Reason: reason, RestartCount: restarts, Message: message}
}

const (
	slow     = "The container has not started for more than a minute; kubectl describe pod tells what of"
	exited1  = "The container ended with exit code 1 (Error)"
	exited0  = "The container ended with exit code 0 (Completed)"
	exited2  = "The container ended with exit code 137 (OOMKilled)"
	backOff  = "back-off 40s restarting failed container=app pod=app-0_default(uid-0)"
	notFound = `rpc error: code = NotFound desc = failed to pull and unpack image "registry.example/app:1": not found`
)

func TestFind(t *testing.T) {
	fine := runs(ago(3000))
	terminating := func(pod *corev1.Pod) { pod.DeletionTimestamp = new(ago(10)) }
	never := func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }
	sidecar := func(pod *corev1.Pod) {
		pod.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	}
	cases := map[string]struct {
		pod    corev1.Pod
		before *v1alpha1.ProblemPod
		want   string
		again  int // seconds
	}{
		// What is well.
		"runs":                 {pod: aPod(corev1.PodRunning, is("app", 0, fine), is("side", 0, fine))},
		"restarted long ago":   {pod: aPod(corev1.PodRunning, is("app", 3, fine, exits(1, "Error", ago(3001))), is("side", 0, fine))},
		"restarted when done":  {pod: aPod(corev1.PodRunning, is("app", 1, runs(ago(9)), exits(0, "Completed", ago(10))))},
		"without times":        {pod: aPod(corev1.PodRunning, is("app", 0, runs(metav1.Time{})))},
		"ended well":           {pod: aPod(corev1.PodSucceeded, is("app", 0, exits(0, "Completed", ago(9))), is("side", 0, exits(143, "Error", ago(8))))},
		"one of two is done":   {pod: aPod(corev1.PodRunning, is("app", 0, exits(0, "Completed", ago(9))), is("side", 0, fine))},
		"terminating":          {pod: aPod(corev1.PodRunning, terminating, is("app", 4, waits(crashLoop, backOff), exits(1, "Error", ago(9))))},
		"just created":         {pod: aPod(corev1.PodPending, onNoNode, created(ago(10))), again: 50},
		"just scheduled":       {pod: aPod(corev1.PodPending, isScheduled(corev1.ConditionTrue, "", "", ago(20))), again: 40},
		"is being created":     {pod: aPod(corev1.PodPending, created(ago(59)), is("app", 0, waits(containerCreating, ""))), again: 1},
		"created once more":    {pod: aPod(corev1.PodRunning, is("app", 0, waits(containerCreating, ""), exits(0, "Completed", ago(30)))), again: 30},
		"just started to init": {pod: aPod(corev1.PodPending, created(ago(30)), is("init", 0, runs(ago(20))), is("app", 0, waits(podInitializing, ""))), again: 30},
		"gated for a moment":   {pod: aPod(corev1.PodPending, onNoNode, created(ago(30)), isScheduled(corev1.ConditionFalse, "SchedulingGated", "", ago(30))), again: 30},

		// Failed.
		"evicted": {
			pod:  aPod(corev1.PodFailed, says("Evicted", "The node was low on resource: memory."), is("app", 0, exits(137, "Error", ago(9)))),
			want: "app-0/ Evicted x0: The node was low on resource: memory",
		},
		"failed": {
			pod:  aPod(corev1.PodFailed, is("app", 0, exits(0, "Completed", ago(9))), is("side", 0, exits(1, "Error", ago(9)))),
			want: "app-0/side Error x0: " + exited1,
		},
		"failed at last": {
			pod:    aPod(corev1.PodFailed, is("app", 6, exits(1, "Error", ago(9)))),
			before: entry("app", crashLoop, 6, exited1),
			want:   "app-0/app Error x6: " + exited1,
		},
		"failed for no reason": {pod: aPod(corev1.PodFailed), want: "app-0/ Failed x0: "},

		// Not scheduled.
		"unschedulable": {
			pod:  aPod(corev1.PodPending, onNoNode, created(ago(1)), isScheduled(corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu. preemption: none.", ago(1))),
			want: "app-0/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient cpu. preemption: none",
		},
		"unschedulable, and a node is gone": {
			pod:    aPod(corev1.PodPending, onNoNode, isScheduled(corev1.ConditionFalse, "Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.", ago(1))),
			before: entry("", "Unschedulable", 0, "0/3 nodes are available: 3 Insufficient cpu"),
			want:   "app-0/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient cpu",
		},
		"unschedulable for another reason": {
			pod:    aPod(corev1.PodPending, onNoNode, isScheduled(corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available: 3 Insufficient memory.", ago(1))),
			before: entry("", "Unschedulable", 0, "0/3 nodes are available: 3 Insufficient cpu"),
			want:   "app-0/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient memory",
		},
		"gated": {
			pod:  aPod(corev1.PodPending, onNoNode, isScheduled(corev1.ConditionFalse, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", ago(3600))),
			want: "app-0/ SchedulingGated x0: Scheduling is blocked due to non-empty scheduling gates",
		},
		"no scheduler": {pod: aPod(corev1.PodPending, onNoNode), want: "app-0/ Pending x0: No scheduler has found a node for it yet"},

		// Not started.
		"no kubelet":          {pod: aPod(corev1.PodPending), want: "app-0/ Pending x0: The kubelet of its node has not said anything of it yet"},
		"creating for long":   {pod: aPod(corev1.PodPending, is("app", 0, waits(containerCreating, ""))), want: "app-0/app ContainerCreating x0: " + slow},
		"initializes forever": {pod: aPod(corev1.PodPending, is("init", 0, runs(ago(3000))), is("app", 0, waits(podInitializing, ""))), want: "app-0/init PodInitializing x0: The init container still runs"},
		"waits, with a sidecar that runs": {
			pod:  aPod(corev1.PodPending, sidecar, is("init", 0, runs(ago(3000))), is("app", 0, waits(podInitializing, ""))),
			want: "app-0/app PodInitializing x0: " + slow,
		},

		// Containers that wait.
		"no image": {
			pod:  aPod(corev1.PodPending, created(ago(5)), is("app", 0, waits(errImagePull, notFound)), is("side", 0, waits(containerCreating, ""))),
			want: "app-0/app ErrImagePull x0: " + notFound,
		},
		"still no image": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "registry.example/app:1": ErrImagePull: `+notFound))),
			before: entry("app", errImagePull, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: " + notFound,
		},
		"still no image, an older kubelet": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "registry.example/app:1"`))),
			before: entry("app", errImagePull, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: " + notFound,
		},
		"no image, tried once more": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(errImagePull, "another text"))),
			before: entry("app", imagePullBackOff, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: " + notFound,
		},
		"no registry, tried once more": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits("RegistryUnavailable", "no route"))),
			before: entry("app", imagePullBackOff, 0, "no route"),
			want:   "app-0/app ImagePullBackOff x0: no route",
		},
		"still no registry": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "x": RegistryUnavailable: no route`))),
			before: entry("app", "RegistryUnavailable", 0, "no route"),
			want:   "app-0/app ImagePullBackOff x0: no route",
		},
		"no image, for another reason": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "x": ErrImagePull: unauthorized`))),
			before: entry("app", imagePullBackOff, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: unauthorized",
		},
		"no image, timed out from another port": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "x": ErrImagePull: dial tcp: read udp 10.0.0.3:41234->10.96.0.10:53: i/o timeout`))),
			before: entry("app", imagePullBackOff, 0, "dial tcp: read udp 10.0.0.3:5->10.96.0.10:53: i/o timeout"),
			want:   "app-0/app ImagePullBackOff x0: dial tcp: read udp 10.0.0.3:5->10.96.0.10:53: i/o timeout",
		},
		"no configuration": {
			pod:  aPod(corev1.PodPending, created(ago(5)), is("app", 0, waits("CreateContainerConfigError", `secret "db" not found`))),
			want: `app-0/app CreateContainerConfigError x0: secret "db" not found`,
		},
		"an init container has no image": {
			pod:  aPod(corev1.PodPending, is("init", 0, waits(errImagePull, notFound)), is("app", 0, waits(podInitializing, ""))),
			want: "app-0/init ErrImagePull x0: " + notFound,
		},
		"the second container": {
			pod:  aPod(corev1.PodRunning, is("side", 2, waits(crashLoop, backOff), exits(1, "Error", ago(9))), is("app", 0, fine)),
			want: "app-0/side CrashLoopBackOff x2: " + exited1,
		},
		"both containers, named in another order": {
			pod:  aPod(corev1.PodRunning, is("side", 2, waits(crashLoop, backOff), exits(1, "Error", ago(9))), is("app", 1, exits(137, "OOMKilled", ago(9)))),
			want: "app-0/app CrashLoopBackOff x1: " + exited2,
		},
		"one creates, another fails": {
			pod:  aPod(corev1.PodPending, created(ago(5)), is("app", 0, waits(containerCreating, "")), is("side", 0, waits("InvalidImageName", "no"))),
			want: "app-0/side InvalidImageName x0: no",
		},

		// Containers that end.
		"ended":                  {pod: aPod(corev1.PodRunning, is("app", 0, exits(1, "Error", ago(3000))), is("side", 0, fine)), want: "app-0/app Error x0: " + exited1},
		"ended without a reason": {pod: aPod(corev1.PodRunning, is("app", 0, exits(1, "", ago(9)))), want: "app-0/app Error x0: " + exited1},
		"ended, with last words": {
			pod:  aPod(corev1.PodRunning, is("app", 0, saying(exits(1, "Error", ago(9)), "password=hunter2"))),
			want: "app-0/app Error x0: " + exited1,
		},
		"not started by the runtime": {
			pod:  aPod(corev1.PodRunning, is("app", 2, waits(crashLoop, backOff), saying(exits(128, "StartError", ago(9)), "exec: \"jaba\": not found\nmore"))),
			want: `app-0/app CrashLoopBackOff x2: The container ended with exit code 128 (StartError): exec: "jaba": not found`,
		},
		"crash loop": {pod: aPod(corev1.PodRunning, is("app", 4, waits(crashLoop, backOff), exits(1, "Error", ago(9)))), want: "app-0/app CrashLoopBackOff x4: " + exited1},
		"crash loop, of what nothing is known": {
			pod:  aPod(corev1.PodRunning, is("app", 4, waits(crashLoop, backOff))),
			want: "app-0/app CrashLoopBackOff x4: The container is restarted again and again",
		},
		"crash loop that the kubelet does not call so": {
			pod:    aPod(corev1.PodRunning, is("app", 1, exits(1, "Error", ago(9)), exits(1, "Error", ago(10)))),
			before: entry("app", "Error", 0, exited1),
			want:   "app-0/app CrashLoopBackOff x1: " + exited1,
		},
		"ended again, after more than ten minutes": {
			pod:  aPod(corev1.PodRunning, is("app", 1, since(ago(610), exits(1, "Error", ago(9))), exits(1, "Error", ago(611)))),
			want: "app-0/app Error x1: " + exited1,
		},
		"could not be started again": {
			pod:  aPod(corev1.PodRunning, is("app", 1, since(metav1.Unix(0, 0), exits(128, "StartError", ago(9))))),
			want: "app-0/app CrashLoopBackOff x1: The container ended with exit code 128 (StartError)",
		},
		"ended for good beside one that runs": {
			pod:  aPod(corev1.PodRunning, never, is("app", 1, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app Error x1: " + exited1,
		},
		"crash loop of a sidecar in a pod that is never restarted": {
			pod:  aPod(corev1.PodRunning, never, sidecar, is("init", 1, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/init CrashLoopBackOff x1: " + exited1,
		},
		"first restart": {
			pod:    aPod(corev1.PodRunning, is("app", 1, runs(ago(10)), exits(1, "Error", ago(11)))),
			before: entry("app", "Error", 0, exited1),
			want:   "app-0/app Error x1: " + exited1, again: 50,
		},
		"restarted, and not seen before": {
			pod:  aPod(corev1.PodRunning, is("app", 1, runs(ago(10)), exits(137, "OOMKilled", ago(11)))),
			want: "app-0/app OOMKilled x1: " + exited2, again: 50,
		},

		// One crash loop all the way.
		"crash loop, runs again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(59)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1, again: 1,
		},
		"crash loop, ended again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(1, "Error", ago(1)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1,
		},
		"crash loop, ended otherwise": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(137, "OOMKilled", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited2,
		},
		"crash loop, cannot be started": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(runContainerError, "no such file"), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1,
		},
		"crash loop, has run for a minute": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(60)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
		},
		"crash loop of exits without an error": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(1)), exits(0, "Completed", ago(9)))),
			before: entry("app", crashLoop, 5, exited0),
			want:   "app-0/app CrashLoopBackOff x5: " + exited0, again: 59,
		},
		"crash loop of exits without an error, ended again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(0, "Completed", ago(1)))),
			before: entry("app", crashLoop, 5, exited0),
			want:   "app-0/app CrashLoopBackOff x5: " + exited0, again: 59,
		},
		"crash loop, ended well at last": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(0, "Completed", ago(61))), is("side", 0, fine)),
			before: entry("app", crashLoop, 5, exited1),
		},
		"crash loop of an init container, ended well at last": {
			pod:    aPod(corev1.PodRunning, is("init", 5, exits(0, "Completed", ago(1))), is("app", 0, fine)),
			before: entry("init", crashLoop, 5, exited1),
		},
		"of another pod with the name": {
			pod:    aPod(corev1.PodRunning, is("app", 0, exits(1, "Error", ago(1)))),
			before: &v1alpha1.ProblemPod{Pod: "app-0", UID: "another", Container: "app", Reason: crashLoop},
			want:   "app-0/app Error x0: " + exited1,
		},
		"without what was said of the right": {
			pod:    aPod(corev1.PodRunning, is("app", 4, exits(1, "Error", ago(9)))),
			before: entry("app", crashLoop, 4, exited1+needsRight),
			want:   "app-0/app CrashLoopBackOff x4: " + exited1,
		},
		"crash loop, another exit code": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(3, "Error", ago(9)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: The container ended with exit code 3 (Error)",
		},
		"crash loop, another exit code this time": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(3, "Error", ago(9)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: The container ended with exit code 3 (Error)",
		},
		"crash loop, of another container": {
			pod:    aPod(corev1.PodRunning, is("app", 1, exits(1, "Error", ago(9)))),
			before: entry("side", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x1: " + exited1,
		},
		"with characters that are none": {
			pod:  aPod(corev1.PodPending, is("app", 0, waits("Odd\x00", "a\x1b[31mred\x1b[0m \x07 word\xff\u202e"))),
			want: "app-0/app Odd? x0: ared ? word??",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := exporter()
			if tc.before != nil {
				e.Status.ProblemPods = []v1alpha1.ProblemPod{*tc.before}
			}
			found := Find(e, []corev1.Pod{tc.pod}, now)
			got := ""
			if len(found.Pods) > 0 {
				got = line(found.Pods[0])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := time.Duration(tc.again) * time.Second; found.Again != again {
				t.Errorf("it is to be looked at again in %s, not %s", found.Again, again)
			}
		})
	}
}

// Sorted, bounded, of the pods with the labels only, and only where it is asked for.
func TestFindOfMany(t *testing.T) {
	var pods []corev1.Pod
	for i := range 60 {
		pod := aPod(corev1.PodFailed)
		pod.Name, pod.UID = fmt.Sprintf("app-%02d", 59-i), types.UID(fmt.Sprint(i))
		pods = append(pods, pod)
	}
	other := aPod(corev1.PodFailed)
	other.Labels, other.Name = nil, "app-00-other"
	pods = append(pods, other)

	found := Find(exporter(), pods, now)
	if len(found.Pods) != 50 || found.Omitted != 10 {
		t.Fatalf("%d are listed, %d are not", len(found.Pods), found.Omitted)
	}
	for i, entry := range found.Pods {
		if want := fmt.Sprintf("app-%02d", i); entry.Pod != want {
			t.Errorf("number %d is %s, not %s", i, entry.Pod, want)
		}
	}
	off := exporter(found.Pods...)
	off.Spec.Alerts.CheckRunningPods = false
	if found := Find(off, pods, now); len(found.Pods) > 0 || found.Omitted > 0 {
		t.Errorf("nobody asked, and %d are listed", len(found.Pods))
	}
}

// Of several pods, the first that time changes decides when to look again.
func TestFindAgain(t *testing.T) {
	early, late := aPod(corev1.PodPending, created(ago(50))), aPod(corev1.PodPending, created(ago(5)))
	if found := Find(exporter(), []corev1.Pod{late, early, late}, now); found.Again != 10*time.Second {
		t.Errorf("again in %s", found.Again)
	}
}

// Messages and reasons fit into the schema, whatever they are.
func TestFindBounds(t *testing.T) {
	long := ""
	for range 1000 {
		long += "ä"
	}
	found := Find(exporter(), []corev1.Pod{aPod(corev1.PodFailed, says(long, long+"\n"+long))}, now)
	if e := found.Pods[0]; len(e.Reason) > 64 || len(e.Message+needsRight) > 512 {
		t.Errorf("%d bytes of reason, %d of message", len(e.Reason), len(e.Message+needsRight))
	}
}

func TestSameWords(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"counts":        {"0/3 nodes are available: 3 Insufficient cpu", "1/4 nodes are available: 13 Insufficient cpu", true},
		"durations":     {"timed out after 10s.", "timed out after 1m20.5s.", true},
		"words":         {"Insufficient cpu", "Insufficient memory", false},
		"image's tags":  {"registry.example/app:1", "registry.example/app:2", false},
		"more of them":  {"a b", "a b c", false},
		"only numbers":  {"3", "", true},
		"IDs":           {`is reserved for "0123456789abcdef"`, `is reserved for "fedcba9876543210"`, true},
		"digests":       {"sha256:0123456789abcdef", "sha256:fedcba9876543210", false},
		"not durations": {"x10s", "x11s", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameWords(tc.a, tc.b); got != tc.want {
				t.Errorf("%q and %q: %t", tc.a, tc.b, got)
			}
		})
	}
}

package problem

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pod as a whole: whether it runs, failed, or has not started.
func TestFindPod(t *testing.T) {
	testFind(t, map[string]findCase{
		// Pods without a problem.
		"the pod runs":                           {pod: aPod(corev1.PodRunning, is("app", 0, fine), is("side", 0, fine))},
		"the pod restarted long ago":             {pod: aPod(corev1.PodRunning, is("app", 3, fine, exits(1, "Error", ago(3001))), is("side", 0, fine))},
		"a container restarted after completing": {pod: aPod(corev1.PodRunning, is("app", 1, runs(ago(9)), exits(0, "Completed", ago(10))))},
		"the start time is missing":              {pod: aPod(corev1.PodRunning, is("app", 0, runs(metav1.Time{})))},
		"the pod succeeded":                      {pod: aPod(corev1.PodSucceeded, is("app", 0, exits(0, "Completed", ago(9))), is("side", 0, exits(143, "Error", ago(8))))},
		"one of two containers completed":        {pod: aPod(corev1.PodRunning, is("app", 0, exits(0, "Completed", ago(9))), is("side", 0, fine))},
		"the pod is terminating":                 {pod: aPod(corev1.PodRunning, terminating, is("app", 4, waits(crashLoop, backOff), exits(1, "Error", ago(9))))},
		"the pod was just created":               {pod: aPod(corev1.PodPending, onNoNode, created(ago(10))), again: 50},
		"the pod was just scheduled":             {pod: aPod(corev1.PodPending, isScheduled(corev1.ConditionTrue, "", "", ago(20))), again: 40},
		"the pod is being created":               {pod: aPod(corev1.PodPending, created(ago(59)), is("app", 0, waits(containerCreating, ""))), again: 1},
		"a container is being created again":     {pod: aPod(corev1.PodRunning, is("app", 0, waits(containerCreating, ""), exits(0, "Completed", ago(30)))), again: 30},
		"an init container just started":         {pod: aPod(corev1.PodPending, created(ago(30)), is("init", 0, runs(ago(20))), is("app", 0, waits(podInitializing, ""))), again: 30},
		"the pod is gated briefly":               {pod: aPod(corev1.PodPending, onNoNode, created(ago(30)), isScheduled(corev1.ConditionFalse, "SchedulingGated", "", ago(30))), again: 30},

		// Failed pods.
		"the pod was evicted": {
			pod:  aPod(corev1.PodFailed, says("Evicted", "The node was low on resource: memory."), is("app", 0, exits(137, "Error", ago(9)))),
			want: "app-0/ Evicted x0: The node was low on resource: memory",
		},
		"the pod failed": {
			pod:  aPod(corev1.PodFailed, is("app", 0, exits(0, "Completed", ago(9))), is("side", 0, exits(1, "Error", ago(9)))),
			want: "app-0/side Error x0: " + exited1,
		},
		"the pod failed after restarts": {
			pod:    aPod(corev1.PodFailed, is("app", 6, exits(1, "Error", ago(9)))),
			before: entry("app", crashLoop, 6, exited1),
			want:   "app-0/app Error x6: " + exited1,
		},
		"the pod failed without a reason": {pod: aPod(corev1.PodFailed), want: "app-0/ Failed x0: "},

		// Pods that are not scheduled.
		"the pod is unschedulable": {
			pod:  aPod(corev1.PodPending, onNoNode, created(ago(1)), isScheduled(corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu. preemption: none.", ago(1))),
			want: "app-0/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient cpu. preemption: none",
		},
		"the pod is unschedulable, and a node was removed": {
			pod:    aPod(corev1.PodPending, onNoNode, isScheduled(corev1.ConditionFalse, "Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.", ago(1))),
			before: entry("", "Unschedulable", 0, "0/3 nodes are available: 3 Insufficient cpu"),
			want:   "app-0/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient cpu",
		},
		"the pod is unschedulable for another reason": {
			pod:    aPod(corev1.PodPending, onNoNode, isScheduled(corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available: 3 Insufficient memory.", ago(1))),
			before: entry("", "Unschedulable", 0, "0/3 nodes are available: 3 Insufficient cpu"),
			want:   "app-0/ Unschedulable x0: 0/3 nodes are available: 3 Insufficient memory",
		},
		"the pod is gated": {
			pod:  aPod(corev1.PodPending, onNoNode, isScheduled(corev1.ConditionFalse, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", ago(3600))),
			want: "app-0/ SchedulingGated x0: Scheduling is blocked due to non-empty scheduling gates",
		},
		"there is no scheduler": {pod: aPod(corev1.PodPending, onNoNode), want: "app-0/ Pending x0: The pod is not scheduled"},

		// Pods that have not started.
		"there is no kubelet":                 {pod: aPod(corev1.PodPending), want: "app-0/ Pending x0: The kubelet has not reported the pod's status"},
		"a container is created for too long": {pod: aPod(corev1.PodPending, is("app", 0, waits(containerCreating, ""))), want: "app-0/app ContainerCreating x0: " + slow},
		"an init container never exits":       {pod: aPod(corev1.PodPending, is("init", 0, runs(ago(3000))), is("app", 0, waits(podInitializing, ""))), want: "app-0/init PodInitializing x0: The init container is still running"},
		"the pod waits beside a running sidecar": {
			pod:  aPod(corev1.PodPending, sidecar, is("init", 0, runs(ago(3000))), is("app", 0, waits(podInitializing, ""))),
			want: "app-0/app PodInitializing x0: " + slow,
		},
	})
}

package problem

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pod as a whole: whether it is well, failed, or has not come to run.
func TestFindPod(t *testing.T) {
	testFind(t, map[string]findCase{
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
		"no scheduler": {pod: aPod(corev1.PodPending, onNoNode), want: "app-0/ Pending x0: The pod is not scheduled"},

		// Not started.
		"no kubelet":          {pod: aPod(corev1.PodPending), want: "app-0/ Pending x0: The kubelet has not reported the pod's status"},
		"creating for long":   {pod: aPod(corev1.PodPending, is("app", 0, waits(containerCreating, ""))), want: "app-0/app ContainerCreating x0: " + slow},
		"initializes forever": {pod: aPod(corev1.PodPending, is("init", 0, runs(ago(3000))), is("app", 0, waits(podInitializing, ""))), want: "app-0/init PodInitializing x0: The init container is still running"},
		"waits, with a sidecar that runs": {
			pod:  aPod(corev1.PodPending, sidecar, is("init", 0, runs(ago(3000))), is("app", 0, waits(podInitializing, ""))),
			want: "app-0/app PodInitializing x0: " + slow,
		},
	})
}

package nodeagents

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const namespace = "jmx-exporter-system"

// anAgent returns the pod of a node agent that is ready.
func anAgent(name, node string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name, p.UID = namespace, name, types.UID(name)
	p.Labels = map[string]string{labelName: nameValue, labelComponent: componentValue}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: DaemonSetName, Controller: new(true)}}
	p.Spec.ServiceAccountName = DaemonSetName
	p.Spec.NodeName, p.Spec.Containers = node, []corev1.Container{{Name: ContainerName, Image: "operator"}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: ContainerName, ContainerID: "containerd://" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	return p
}

// changed returns a changed copy.
func changed(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	p = p.DeepCopy()
	change(p)
	return p
}

// waitsFor makes a pod one that waits to be scheduled to a node.
func waitsFor(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient memory.",
		}}}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "type", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"virtual-kubelet"}}}},
			{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}},
		}}}}
	}
}

// trimmed returns what the cache keeps of a pod.
func trimmed(t *testing.T, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	kept, err := trim(p)
	if err != nil {
		t.Fatal(err)
	}
	return kept.(*corev1.Pod)
}

func unready(p *corev1.Pod)     { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }

// What is known of the node agent on a node follows from its pods.
func TestAgents(t *testing.T) {
	first, second := anAgent("first", "n1"), anAgent("second", "n1")
	starting := changed(second, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = corev1.ContainerState{} })
	newer := changed(anAgent("newer", "n1"), func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() })
	unscheduled := changed(anAgent("unscheduled", ""), waitsFor("n1"))
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		gone []*corev1.Pod
		// between is the time between two of these, and later the one since then.
		between, later time.Duration
		// left is how long the next one is awaited, and last the one that was ready last.
		left   time.Duration
		last   types.UID
		want   steps.NodeAgent
		reason string
		pod    string
	}{
		"there is none":                             {reason: v1alpha1.ReasonNodeAgentMissing},
		"one is ready":                              {pods: []*corev1.Pod{first}, want: steps.NodeAgent{Ready: true, UID: "first"}, pod: "first"},
		"a pod with its labels has no owner":        {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.OwnerReferences = nil })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"another DaemonSet owns it":                 {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.OwnerReferences[0].Name = "mine" })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"an owner that does not control it":         {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"it has another service account":            {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one is on another node":                    {pods: []*corev1.Pod{anAgent("other", "n2")}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one is not scheduled":                      {pods: []*corev1.Pod{anAgent("other", "")}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one starts":                                {pods: []*corev1.Pod{starting}, left: awaited, reason: v1alpha1.ReasonNodeAgentPending},
		"one is not ready":                          {pods: []*corev1.Pod{changed(first, unready)}, left: awaited, reason: v1alpha1.ReasonNodeAgentPending},
		"one has never been ready for some time":    {pods: []*corev1.Pod{starting, changed(first, unready), starting}, between: 20 * time.Second, left: awaited - 40*time.Second, reason: v1alpha1.ReasonNodeAgentPending},
		"one has never been ready for long":         {pods: []*corev1.Pod{starting}, later: awaited, reason: v1alpha1.ReasonNodeAgentPending},
		"one is not scheduled to its node":          {pods: []*corev1.Pod{unscheduled}, left: awaited, reason: v1alpha1.ReasonNodeAgentPending},
		"one waits for another node":                {pods: []*corev1.Pod{changed(unscheduled, waitsFor("n2"))}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one crash-loops":                           {pods: []*corev1.Pod{starting, second, starting, second, starting, second, starting}, between: 20 * time.Second, want: steps.NodeAgent{UID: "second"}, reason: v1alpha1.ReasonNodeAgentPending},
		"one crashes after a while":                 {pods: []*corev1.Pod{starting, second, starting}, between: awaited, left: awaited, last: "second", reason: v1alpha1.ReasonNodeAgentPending},
		"one was there, and crashes at once":        {pods: []*corev1.Pod{second, starting}, between: time.Second, left: awaited, last: "second", reason: v1alpha1.ReasonNodeAgentPending},
		"one is not ready any more":                 {pods: []*corev1.Pod{first, changed(first, unready)}, left: awaited, last: "first", reason: v1alpha1.ReasonNodeAgentPending},
		"one has not been ready for long":           {pods: []*corev1.Pod{first, changed(first, unready)}, later: awaited, want: steps.NodeAgent{UID: "first"}, reason: v1alpha1.ReasonNodeAgentPending},
		"one terminates":                            {pods: []*corev1.Pod{first, changed(first, terminating)}, left: awaited, last: "first", reason: v1alpha1.ReasonNodeAgentPending},
		"one is gone":                               {pods: []*corev1.Pod{first}, gone: []*corev1.Pod{first}, left: awaited, last: "first", reason: v1alpha1.ReasonNodeAgentPending},
		"one is gone for long":                      {pods: []*corev1.Pod{first}, gone: []*corev1.Pod{first}, later: awaited, reason: v1alpha1.ReasonNodeAgentMissing},
		"one that was never ready is gone":          {pods: []*corev1.Pod{changed(first, unready)}, gone: []*corev1.Pod{first}, left: awaited, reason: v1alpha1.ReasonNodeAgentPending},
		"one that was never ready is gone for long": {pods: []*corev1.Pod{changed(first, unready)}, gone: []*corev1.Pod{first}, later: awaited, reason: v1alpha1.ReasonNodeAgentMissing},
		"one terminates, and another one is here":   {pods: []*corev1.Pod{first, changed(first, terminating), second}, want: steps.NodeAgent{Ready: true, UID: "second"}, pod: "second"},
		"two are ready":                             {pods: []*corev1.Pod{newer, first}, want: steps.NodeAgent{Ready: true, UID: "newer"}, pod: "newer"},
		"the other one of two is gone":              {pods: []*corev1.Pod{first, second}, gone: []*corev1.Pod{second}, want: steps.NodeAgent{Ready: true, UID: "first"}, pod: "first"},
	} {
		t.Run(name, func(t *testing.T) {
			now := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			a := New(fake.NewClientset(), namespace, now)
			for i, p := range tc.pods {
				if i > 0 {
					now.SetTime(now.Now().Add(tc.between))
				}
				a.set(trimmed(t, p), false)
			}
			for _, p := range tc.gone {
				a.set(trimmed(t, p), true)
			}
			now.SetTime(now.Now().Add(tc.later))
			got, err := a.On(t.Context(), "n1")
			known, _ := errors.AsType[*transport.Error](err)
			if tc.left > 0 {
				tc.want = steps.NodeAgent{Awaited: true, AwaitedFor: tc.left, UID: tc.last}
			}
			if got := a.Agent("n1"); got != tc.want {
				t.Errorf("Agent: got %+v, want %+v", got, tc.want)
			}
			if reason := reasonOf(known); reason != tc.reason || got.Pod != tc.pod {
				t.Errorf("On: got pod %q and error %v, want %q and reason %q", got.Pod, err, tc.pod, tc.reason)
			}
			if tc.pod != "" && (got.Namespace != namespace || got.Name != ContainerName || got.ID != "containerd://"+tc.pod || got.Node != "n1" || got.PodUID != types.UID(tc.pod)) {
				t.Errorf("On: got %+v", got)
			}
		})
	}
}

func reasonOf(err *transport.Error) string {
	if err == nil {
		return ""
	}
	return err.Reason
}

// Why a node agent is not ready is said, with the pod to look at.
func TestWhyNotReady(t *testing.T) {
	waiting := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			unready(p)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
		}
	}
	const where = " (pod jmx-exporter-system/first)."
	for name, tc := range map[string]struct {
		how  func(*corev1.Pod)
		want string
	}{
		"its image cannot be pulled": {waiting("ImagePullBackOff", "Back-off pulling image \"operator\"."), `: ImagePullBackOff: Back-off pulling image "operator"` + where},
		"it crashes":                 {waiting("CrashLoopBackOff", "back-off 10s\n"+strings.Repeat("x", 1000)), ": CrashLoopBackOff: back-off 10s" + where},
		"its message is long":        {waiting("CrashLoopBackOff", strings.Repeat("x", 1000)), ": CrashLoopBackOff: " + strings.Repeat("x", 297) + "…" + where},
		"its container is created":   {waiting("ContainerCreating", ""), ": ContainerCreating" + where},
		"no reason is given":         {waiting("", ""), where},
		"its container ended": {func(p *corev1.Pod) {
			unready(p)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled"}}
		}, ": OOMKilled" + where},
		"it runs, and is not ready": {unready, where},
		"it is not scheduled":       {waitsFor("n1"), ": Unschedulable: 0/1 nodes are available: 1 Insufficient memory" + where},
		"it is deleted":             {terminating, ": its pod is being deleted" + where},
		"it was evicted": {func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. "}
		}, ": Evicted: The node was low on resource: memory" + where},
	} {
		a := New(fake.NewClientset(), namespace, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		a.set(trimmed(t, changed(anAgent("first", "n1"), tc.how)), false)
		_, err := a.On(t.Context(), "n1")
		known, _ := errors.AsType[*transport.Error](err)
		if want := "The node agent on node n1 is not ready" + tc.want; known == nil || known.Message != want {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	a := New(fake.NewClientset(), namespace, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	for _, name := range []string{"old", "new"} {
		a.set(changed(anAgent(name, "n1"), func(p *corev1.Pod) {
			unready(p)
			p.CreationTimestamp = metav1.Unix(int64(len(a.nodes)), 0)
		}), false)
	}
	if _, err := a.On(t.Context(), "n1"); err == nil || !strings.Contains(err.Error(), "/new)") {
		t.Errorf("two that are not ready: got %v, want the newer one named", err)
	}
	for _, name := range []string{"old", "new"} {
		a.set(anAgent(name, "n1"), true)
	}
	if _, err := a.On(t.Context(), "n1"); err == nil || !strings.Contains(err.Error(), "The node agent on node n1 is gone, and the next one is not ready.") {
		t.Errorf("none is left: got %v", err)
	}
}

// A node agent that takes the place of another one without a gap is one that became ready, too.
func TestSetReportsReady(t *testing.T) {
	first, second := anAgent("first", "n1"), changed(anAgent("second", "n1"), func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() })
	a := New(fake.NewClientset(), namespace, clock.RealClock{})
	for i, step := range []struct {
		pod  *corev1.Pod
		gone bool
		want bool
	}{{pod: changed(first, unready)}, {pod: first, want: true}, {pod: first}, {pod: second, want: true}, {pod: changed(first, terminating)}, {pod: first, gone: true}, {pod: second, gone: true}} {
		if got := a.set(step.pod, step.gone); got != step.want {
			t.Errorf("step %d: became ready: got %t, want %t", i, got, step.want)
		}
	}
}

// Nodes are forgotten when they have had no node agent for long.
func TestNodesAreForgotten(t *testing.T) {
	now := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a := New(fake.NewClientset(), namespace, now)
	for _, node := range []string{"n1", "n2", "n3"} {
		a.set(anAgent(node, node), false)
		a.set(anAgent(node, node), true)
	}
	now.SetTime(now.Now().Add(awaited))
	a.set(anAgent("n4", "n4"), false)
	if len(a.nodes) != 1 {
		t.Errorf("nodes: got %d, want 1", len(a.nodes))
	}
}

package nodeagents

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
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

func unready(p *corev1.Pod)     { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }

// What is known of the node agent on a node follows from its pods.
func TestAgents(t *testing.T) {
	first, second := anAgent("first", "n1"), anAgent("second", "n1")
	starting := changed(second, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = corev1.ContainerState{} })
	newer := changed(anAgent("newer", "n1"), func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() })
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		gone []*corev1.Pod
		// later is the time since then.
		later  time.Duration
		want   steps.NodeAgent
		reason string
		pod    string
	}{
		"there is none":                           {reason: v1alpha1.ReasonNodeAgentMissing},
		"one is ready":                            {pods: []*corev1.Pod{first}, want: steps.NodeAgent{Ready: true, UID: "first"}, pod: "first"},
		"a pod with its labels has no owner":      {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.OwnerReferences = nil })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"another DaemonSet owns it":               {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.OwnerReferences[0].Name = "mine" })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"an owner that does not control it":       {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"it has another service account":          {pods: []*corev1.Pod{changed(first, func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" })}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one is on another node":                  {pods: []*corev1.Pod{anAgent("other", "n2")}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one is not scheduled":                    {pods: []*corev1.Pod{anAgent("other", "")}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one starts":                              {pods: []*corev1.Pod{starting}, reason: v1alpha1.ReasonNodeAgentPending},
		"one is not ready":                        {pods: []*corev1.Pod{changed(first, unready)}, reason: v1alpha1.ReasonNodeAgentPending},
		"one is not ready any more":               {pods: []*corev1.Pod{first, changed(first, unready)}, want: steps.NodeAgent{Awaited: true, UID: "first"}, reason: v1alpha1.ReasonNodeAgentPending},
		"one has not been ready for long":         {pods: []*corev1.Pod{first, changed(first, unready)}, later: awaited, reason: v1alpha1.ReasonNodeAgentPending},
		"one terminates":                          {pods: []*corev1.Pod{first, changed(first, terminating)}, want: steps.NodeAgent{Awaited: true, UID: "first"}, reason: v1alpha1.ReasonNodeAgentPending},
		"one is gone":                             {pods: []*corev1.Pod{first}, gone: []*corev1.Pod{first}, want: steps.NodeAgent{Awaited: true, UID: "first"}, reason: v1alpha1.ReasonNodeAgentPending},
		"one is gone for long":                    {pods: []*corev1.Pod{first}, gone: []*corev1.Pod{first}, later: awaited, reason: v1alpha1.ReasonNodeAgentMissing},
		"one that was never ready is gone":        {pods: []*corev1.Pod{changed(first, unready)}, gone: []*corev1.Pod{first}, reason: v1alpha1.ReasonNodeAgentMissing},
		"one terminates, and another one is here": {pods: []*corev1.Pod{first, changed(first, terminating), second}, want: steps.NodeAgent{Ready: true, UID: "second"}, pod: "second"},
		"two are ready":                           {pods: []*corev1.Pod{newer, first}, want: steps.NodeAgent{Ready: true, UID: "newer"}, pod: "newer"},
		"the other one of two is gone":            {pods: []*corev1.Pod{first, second}, gone: []*corev1.Pod{second}, want: steps.NodeAgent{Ready: true, UID: "first"}, pod: "first"},
	} {
		t.Run(name, func(t *testing.T) {
			now := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			a := New(fake.NewClientset(), namespace, now)
			for _, p := range tc.pods {
				a.set(p, false)
			}
			for _, p := range tc.gone {
				a.set(p, true)
			}
			now.SetTime(now.Now().Add(tc.later))
			if got := a.Agent("n1"); got != tc.want {
				t.Errorf("Agent: got %+v, want %+v", got, tc.want)
			}
			got, err := a.On(t.Context(), "n1")
			known, _ := errors.AsType[*transport.Error](err)
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

// Outside of a cluster there are no node agents, and nothing is asked for.
func TestNoNamespace(t *testing.T) {
	a := New(fake.NewClientset(), "", clock.RealClock{})
	a.Watch(t.Context(), func(string) { t.Error("a node agent is ready") })
	a.Synced(t.Context())
	if _, err := a.On(t.Context(), "n1"); err == nil {
		t.Error("On: got no error, want one")
	}
}

// The pods are followed by their labels, in the operator's namespace; ready is called once for
// each time that a node gets a node agent.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plain := changed(anAgent("plain", "n3"), func(p *corev1.Pod) { p.Labels = nil })
	elsewhere := changed(anAgent("elsewhere", "n4"), func(p *corev1.Pod) { p.Namespace = "shop" })
	client := fake.NewClientset(anAgent("first", "n1"), plain, elsewhere)
	a := New(client, namespace, clock.RealClock{})
	ready := make(chan string, 10)
	a.Watch(ctx, func(node string) { ready <- node })
	a.Synced(ctx)
	if !a.Agent("n1").Ready {
		t.Error("a start does not wait for the node agents that exist")
	}
	pods := client.CoreV1().Pods(namespace)
	second := anAgent("second", "n2")
	for _, step := range []func() error{
		func() error { _, err := pods.Create(ctx, changed(second, unready), metav1.CreateOptions{}); return err },
		func() error { _, err := pods.Update(ctx, second, metav1.UpdateOptions{}); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for len(got) < 2 {
		select {
		case node := <-ready:
			got = append(got, node)
		case <-time.After(30 * time.Second):
			t.Fatalf("nodes with a node agent: got %q, want n1 and n2", got)
		}
	}
	if want := []string{"n1", "n2"}; !slices.Equal(got, want) {
		t.Errorf("nodes with a node agent: got %q, want %q", got, want)
	}
	for _, node := range []string{"n3", "n4"} {
		if a.Agent(node) != (steps.NodeAgent{}) {
			t.Errorf("node %s: got a node agent, want none", node)
		}
	}
}

// Without the right to list the pods there are no node agents, and a start does not wait; the
// right is asked for with backoff.
func TestWithoutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset()
		var asked atomic.Int32
		client.PrependReactor("*", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			asked.Add(1)
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		})
		a := New(client, namespace, clock.RealClock{})
		a.Watch(ctx, func(string) { t.Error("a node agent is ready") })
		start := time.Now()
		a.Synced(ctx)
		if waited := time.Since(start); waited > 0 {
			t.Errorf("a start waits for %s", waited)
		}
		time.Sleep(24 * time.Hour)
		if n := asked.Load(); n > 24*6+15 {
			t.Errorf("requests in a day: got %d, want one in ten minutes", n)
		}
		if a.Agent("n1") != (steps.NodeAgent{}) {
			t.Error("got a node agent, want none")
		}
		cancel()
		synctest.Wait()
	})
}

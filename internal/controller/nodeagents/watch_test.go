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
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

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

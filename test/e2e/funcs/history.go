package funcs

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// History is what the records of a namespace have been, one after the other.
// What was so for a moment only is seen in it all the same.
type History struct {
	namespace string

	mu      sync.Mutex
	first   records
	changes []v1alpha1.JmxAttachment
}

type records map[types.UID]v1alpha1.JmxAttachment

// HistoryOf is the history of a namespace's records.
func HistoryOf(namespace string) *History { return &History{namespace: namespace} }

// Begin follows the records from now on, to the end of the test of this step.
func (h *History) Begin() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.first, h.changes = records{}, nil
		var list v1alpha1.JmxAttachmentList
		c.follow(ctx, t, h.namespace, &list, func(object runtime.Object) {
			if r, ok := object.(*v1alpha1.JmxAttachment); ok {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.changes = append(h.changes, *r)
			}
		})
		for _, r := range list.Items {
			h.first[r.UID] = r
		}
	})
}

// follow lists what is in a namespace, and shows each change from then on, to the
// end of the test.
func (c *cluster) follow(ctx context.Context, t *testing.T, namespace string, list client.ObjectList, show func(runtime.Object)) {
	t.Helper()
	follower, err := client.NewWithWatch(c.config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, func(ctx context.Context) error { return c.List(ctx, list, client.InNamespace(namespace)) })
	// An API server may end a watch; this one goes on where it was.
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), follows(func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
		return follower.Watch(ctx, list.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace), &client.ListOptions{Raw: &from})
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	go func() {
		for change := range changes.ResultChan() {
			show(change.Object)
		}
	}()
}

// follows begins to watch.
type follows func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error)

// WatchWithContext implements cache.WatcherWithContext.
func (f follows) WatchWithContext(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, from)
}

// replay waits until the history has come to what is there now, and shows what
// the records were after each change.
func (h *History) replay(ctx context.Context, t *testing.T, c *cluster, show func(now records, changed v1alpha1.JmxAttachment)) {
	t.Helper()
	var changes []v1alpha1.JmxAttachment
	now := records{}
	eventually(ctx, t, func(ctx context.Context) error {
		current, err := c.attachments(ctx, h.namespace)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		now, changes = maps.Clone(h.first), h.changes
		last := maps.Clone(h.first)
		for _, r := range changes {
			last[r.UID] = r
		}
		for _, r := range current {
			if last[r.UID].ResourceVersion != r.ResourceVersion {
				return fmt.Errorf("the history of %s has not come to resourceVersion %s", r.Name, r.ResourceVersion)
			}
		}
		return nil
	})
	for _, r := range changes {
		now[r.UID] = r
		show(now, r)
	}
}

func arrived(r v1alpha1.JmxAttachment, revision string) bool {
	return r.Spec.Revision == revision && r.Status.Revision == revision && r.Status.Phase == v1alpha1.PhaseAnnotated
}

// OneFirst asserts that what the exporter says now went to one pod first: until
// that one was Annotated with it, all others were Annotated as before.
func (h *History) OneFirst(exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		revision := c.revision(ctx, t, h.namespace, exporter)
		var canary types.UID
		proven := false
		h.replay(ctx, t, c, func(now records, changed v1alpha1.JmxAttachment) {
			if canary == "" && changed.Spec.Revision == revision {
				canary = changed.UID
				t.Logf("%s went first, of %d", changed.Spec.Pod.Name, len(now))
			}
			if canary == "" || proven {
				return
			}
			for _, r := range now {
				before := h.first[r.UID]
				if r.UID != canary && (r.Spec.Revision == revision || r.Status.Revision != before.Status.Revision ||
					r.Status.Phase != v1alpha1.PhaseAnnotated || r.Status.Processes[0].ConfigSHA256 != before.Status.Processes[0].ConfigSHA256) {
					t.Errorf("%s had its turn before %s was Annotated: %+v", r.Spec.Pod.Name, now[canary].Spec.Pod.Name, r.Status)
				}
			}
			proven = arrived(now[canary], revision)
		})
		if !proven {
			t.Fatalf("no pod was Annotated with revision %s", revision)
		}
	})
}

// AtMost asserts that never more pods than that were under way at once to what
// the exporter says now, never more than that on one node, and that so many have
// arrived.
func (h *History) AtMost(exporter string, limit, perNode, pods int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		revision := c.revision(ctx, t, h.namespace, exporter)
		nodes := map[string]string{}
		for _, pod := range podsOf(h.namespace, label).all(ctx, t, c) {
			nodes[pod.Name] = pod.Spec.NodeName
		}
		there, most := map[types.UID]bool{}, 0
		h.replay(ctx, t, c, func(now records, _ v1alpha1.JmxAttachment) {
			var underWay []string
			on := map[string]int{}
			for _, r := range now {
				there[r.UID] = there[r.UID] || arrived(r, revision)
				if r.Spec.Revision == revision && !there[r.UID] {
					underWay = append(underWay, r.Spec.Pod.Name)
					on[nodes[r.Spec.Pod.Name]]++
				}
			}
			most = max(most, len(underWay))
			if len(underWay) > limit {
				t.Errorf("under way at once were %v, more than %d", underWay, limit)
			}
			for node, n := range on {
				if n > perNode {
					t.Errorf("under way at once were %d on node %s, more than %d", n, node, perNode)
				}
			}
		})
		t.Logf("at most %d were under way at once", most)
		arrivals := 0
		for _, is := range there {
			if is {
				arrivals++
			}
		}
		if arrivals != pods {
			t.Errorf("%d pods have arrived at revision %s, not %d", arrivals, revision, pods)
		}
	})
}

package integration

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// Two operators share the namespaces, and each leaves those of the other alone. When their
// number changes, the new operator does nothing until the last of the old ones has ended.
func TestShards(t *testing.T) {
	t.Parallel()
	leases, nodes := newCluster(t), fakenode.New(t)
	leases.containers = nodes
	shards := []shard.Shard{{Index: 0, Total: 2}, {Index: 1, Total: 2}}
	stories := []*story{aStoryOf(t, nodes, shards[0]), aStoryOf(t, nodes, shards[1])}
	namespaces := []string{stories[0].namespace, stories[1].namespace}
	start := func(of shard.Shard) (ctrl.Manager, *seenNamespaces, func()) {
		seen := &seenNamespaces{set: sets.New[string]()}
		mgr, stop := leases.startManagerAs(config, func(o *manager.Options) {
			o.Seam, o.Shard = seen.seam, of
			o.LeaderElect, o.LeaderNamespace, o.Lease = true, leases.namespace, longLease
		}, namespaces...)
		return mgr, seen, stop
	}
	_, first, stopFirst := start(shards[0])
	_, second, stopSecond := start(shards[1])
	for _, s := range stories {
		s.pod, s.exporter = s.run(aPod("app-0")), s.export("exporter")
	}
	isAnnotatedAt := func(s *story, port int32) {
		t.Helper()
		eventually(t, func() bool {
			a := s.attachment(s.pod)
			return a != nil && phaseOf(a) == isAnnotated && a.Status.Processes[0].Port == port
		})
	}
	isAnnotatedAt(stories[0], 9400)
	isAnnotatedAt(stories[1], 9400)
	for i, seen := range []*seenNamespaces{first, second} {
		if got := seen.list(); !got.Equal(sets.New(namespaces[i])) {
			t.Errorf("the operator of shard %d was active in %v, want %s alone", i, got.UnsortedList(), namespaces[i])
		}
	}

	whole, third, _ := start(shard.Shard{})
	stopFirst()
	setPort := func(s *story) {
		change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	}
	setPort(stories[1]) // the second one still leads
	isAnnotatedAt(stories[1], 9500)
	select {
	case <-whole.Elected():
		t.Error("an operator of all namespaces is elected beside one of a shard")
	default:
	}
	if got := third.list(); got.Len() > 0 {
		t.Errorf("it was active in %v meanwhile", got.UnsortedList())
	}
	stopSecond()
	setPort(stories[0])
	isAnnotatedAt(stories[0], 9500)
}

// longLease is not lost on a busy machine. An operator that ends releases it at once.
var longLease = manager.LeaseTimes{Duration: 5 * time.Minute, Deadline: 4 * time.Minute, Retry: 200 * time.Millisecond}

// aStoryOf returns a story in a namespace of the shard.
func aStoryOf(t *testing.T, on *containers, of shard.Shard) *story {
	t.Helper()
	for {
		if s := (&story{cluster: newCluster(t)}); of.Owns(s.namespace) {
			s.containers = on
			return s
		}
	}
}

// seenNamespaces are the namespaces in which an operator had an effect.
type seenNamespaces struct {
	mu  sync.Mutex
	set sets.Set[string]
}

func (s *seenNamespaces) seam(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
	namespace, _, _ := strings.Cut(effect.On, "/")
	s.mu.Lock()
	s.set.Insert(namespace)
	s.mu.Unlock()
	return do(ctx)
}

func (s *seenNamespaces) list() sets.Set[string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set.Clone()
}

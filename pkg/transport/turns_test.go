package transport

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// crowd attaches to pods as the controller does, with the operator's default limits: with a
// queue, its workers, an event for capacity, and a retry of what found none. A session takes
// a second.
type crowd struct {
	mu     sync.Mutex
	queue  workqueue.TypedDelayingInterface[Container]
	exec   *Exec
	open   map[types.UID]bool
	opened map[types.UID]time.Duration
	began  time.Time
}

// attachCrowd returns when each pod, named namespace/exporter/number, had its session. Pods
// arrive after their namespace's delay.
func attachCrowd(t *testing.T, pods map[string]int, delay map[string]time.Duration) map[types.UID]time.Duration {
	t.Helper()
	opened := map[types.UID]time.Duration{}
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{
			queue: workqueue.NewTypedDelayingQueue[Container](), exec: anExec(someHang{func(int) bool { return false }, fleetHello}),
			open: map[types.UID]bool{}, opened: opened, began: time.Now(),
		}
		c.exec.limits = NewLimits(16, 5, 12)
		all := map[string]Container{}
		c.exec.limits.OnRoom(func(namespace, pod string) bool { c.queue.Add(all[namespace+"/"+pod]); return true })
		node := 0
		for of, n := range pods {
			namespace, exporter, _ := strings.Cut(of, "/")
			for range n {
				node++
				in := Container{
					Namespace: namespace, Pod: fmt.Sprint(node), PodUID: types.UID(fmt.Sprintf("%s/%d", of, node)), Name: "app", Node: fmt.Sprint(node % fleetNodes),
					Origin: Origin{Namespace: namespace, Exporter: exporter},
				}
				all[namespace+"/"+in.Pod] = in
				c.open[in.PodUID] = true
				c.queue.AddAfter(in, delay[namespace])
			}
		}
		var workers sync.WaitGroup
		for range fleetWorkers {
			workers.Go(func() {
				for c.work(t.Context()) {
				}
			})
		}
		workers.Wait()
		wantFree(t, c.exec.limits)
	})
	return opened
}

// work reconciles the next pod; false if there will be none.
func (c *crowd) work(ctx context.Context) bool {
	in, over := c.queue.Get()
	if over {
		return false
	}
	defer c.queue.Done(in)
	c.mu.Lock()
	due := c.open[in.PodUID]
	c.mu.Unlock()
	if !due {
		return true
	}
	s, err := c.exec.Open(ctx, in)
	if err != nil {
		c.queue.AddAfter(in, statemachine.QueuedFor)
		return true
	}
	time.Sleep(fleetWork)
	s.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, in.PodUID)
	c.opened[in.PodUID] = time.Since(c.began)
	if len(c.open) == 0 {
		c.queue.ShutDown()
	}
	return true
}

// A namespace that comes when two others have thousands of pods waiting has its turn at
// once, and so has an exporter beside a big one in its namespace.
func TestTurns(t *testing.T) {
	for name, tc := range map[string]struct {
		pods  map[string]int
		delay map[string]time.Duration
		small string
	}{
		"a third namespace":   {map[string]int{"a/x": 400, "b/x": 400, "c/x": 8}, map[string]time.Duration{"c": 5 * time.Second}, "c/x"},
		"a second exporter":   {map[string]int{"a/x": 800, "a/y": 8}, nil, "a/y"},
		"a hundred exporters": {map[string]int{"a/x": 400, "b/x": 400, "c/y": 4, "c/x": 200}, map[string]time.Duration{"c": 5 * time.Second}, "c/y"},
	} {
		t.Run(name, func(t *testing.T) {
			var last, all time.Duration
			for pod, after := range attachCrowd(t, tc.pods, tc.delay) {
				all = max(all, after)
				if strings.HasPrefix(string(pod), tc.small) {
					last = max(last, after-tc.delay[string(pod[0])])
				}
			}
			t.Logf("the last pod of %s waited for %s, all took %s", tc.small, last, all)
			if last > 5*time.Second {
				t.Errorf("the last pod of %s waited for %s, of %s in all", tc.small, last, all)
			}
		})
	}
}

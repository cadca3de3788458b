package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// startManager starts an operator as cmd/manager does with its default flags, whose execs
// reach the scripted containers, until the test ends.
func (c *cluster) startManager(as *rest.Config) {
	c.t.Helper()
	c.startManagerIn(as, c.containers.Prober(effects.Direct), c.namespace)
}

// startManagerIn does so for several namespaces, whose endpoints the prober probes.
func (c *cluster) startManagerIn(as *rest.Config, asks probe.Prober, namespaces ...string) {
	c.t.Helper()
	c.startManagerAs(as, func(o *manager.Options) { o.Prober = asks }, namespaces...)
}

// startManagerAs does so with other options. It returns the manager, and ends it when stop is
// called or the test ends.
func (c *cluster) startManagerAs(as *rest.Config, how func(*manager.Options), namespaces ...string) (mgr ctrl.Manager, stop func()) {
	c.t.Helper()
	limits := transport.NewLimits(16, 5, 12)
	options := manager.Options{
		Namespaces: namespaces, MetricsAddress: "0", HealthAddress: "0", Concurrent: 96, Seam: effects.Direct,
		Limits: limits, Prober: c.containers.Prober(effects.Direct), Artifacts: c.artifacts,
	}
	how(&options)
	exec := transport.NewExec(c.containers.Streams(), c.artifacts, options.Seam, limits)
	options.Sessions = func() attachment.Session { return transport.NewSessions(exec) }
	mgr, err := manager.New(as, options)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	})
	c.t.Cleanup(stop)
	return mgr, stop
}

// asInCluster returns the API server's configuration as cmd/manager uses it: with the same limits.
func asInCluster() *rest.Config {
	as := rest.CopyConfig(config)
	as.QPS, as.Burst = 100, 200
	return as
}

// runAll creates this many pods on a number of nodes, and makes some of them hang.
func (c *cluster) runAll(n, nodes int, hangs func(int) bool) []*corev1.Pod {
	c.t.Helper()
	return c.runEach(n, nodes, func(i int, pod *podBuilder) { pod.hangs = hangs(i) })
}

// runEach creates this many pods on a number of nodes, each changed by how.
func (c *cluster) runEach(n, nodes int, how func(int, *podBuilder)) (pods []*corev1.Pod) {
	c.t.Helper()
	pods = make([]*corev1.Pod, n)
	var all sync.WaitGroup
	next := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range next {
				pod := aPod(fmt.Sprintf("app-%04d", i))
				pod.pod.Spec.NodeName = fmt.Sprintf("node-%d", 1+i%nodes)
				how(i, pod)
				pods[i] = c.run(pod)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	return pods
}

// exportOpen creates an exporter that updates all pods at once.
func (c *cluster) exportOpen() *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	c.configure(rules)
	return c.exportOpenTo("exporter", "dummyapp")
}

// exportOpenTo does so for the pods of an app.
func (c *cluster) exportOpenTo(name, app string) *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	exporter := c.anExporter(name)
	exporter.Spec.LabelSelector["app"] = v1alpha1.LabelValue(app)
	exporter.Spec.Rollout = v1alpha1.Rollout{
		MaxConcurrent: 1000, MaxConcurrentPerNode: 1000, Canary: v1alpha1.Canary{Count: new(int32(0))}, RestartWindow: &metav1.Duration{},
	}
	return create(c.t, exporter)
}

// annotatedAfter waits until this many pods are Annotated, and returns when each was.
func (c *cluster) annotatedAfter(n int) []time.Duration {
	c.t.Helper()
	begin, after := time.Now(), map[string]time.Duration{}
	ctx, stop := context.WithTimeout(c.t.Context(), 10*time.Minute)
	defer stop()
	for len(after) < n {
		events, err := admin.Watch(ctx, &v1alpha1.JmxAttachmentList{}, client.InNamespace(c.namespace))
		if err != nil {
			c.t.Fatalf("only %d pods are Annotated: %v", len(after), err)
		}
		for event := range events.ResultChan() { // the channel closes when the API server ends the watch
			a, ok := event.Object.(*v1alpha1.JmxAttachment)
			if ok && after[a.Name] == 0 && a.Status.Phase == v1alpha1.PhaseAnnotated {
				after[a.Name] = time.Since(begin)
			}
			if len(after) == n {
				break
			}
		}
		events.Stop()
	}
	return slices.Sorted(maps.Values(after))
}

func full() bool { return os.Getenv("FULL") != "" }

// One pod in ten hangs: all others become Annotated, and regress and detach work meanwhile.
// The delay is only logged: see pkg/transport, where the clock is simulated. With FULL=1
// there are 500 pods.
func TestHangingPods(t *testing.T) {
	t.Parallel()
	n := 60
	if full() {
		n = 500
	}
	healthy := n - n/10
	var last, median []time.Duration
	for _, some := range []bool{false, true} {
		t.Run(fmt.Sprintf("some hang %t", some), func(t *testing.T) {
			c := newCluster(t)
			hangs := func(i int) bool { return some && i%10 == 3 }
			pods := c.runAll(n, 10, hangs)
			if !some { // the same other pods
				pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
					hang := pod.Name[len(pod.Name)-1] == '3'
					if hang {
						remove(t, pod)
					}
					return hang
				})
			}
			c.startManager(asInCluster())
			c.exportOpen()
			after := c.annotatedAfter(healthy)
			median, last = append(median, after[healthy/2]), append(last, after[healthy-1])
			if !some {
				return
			}
			for i, pod := range pods {
				if a := c.attachment(pod); hangs(i) && (a.Status.Phase == v1alpha1.PhaseAnnotated || a.Status.Processes != nil) {
					t.Errorf("phase of the hanging %s: got %q", pod.Name, phaseOf(a))
				}
			}
			c.detachesWhileOthersHang(pods[0], pods[1])
		})
	}
	if len(last) == 2 {
		t.Logf("%d pods with %d that hang, and without them: the median is Annotated after %s and %s (%.2f times), the last after %s and %s (%.2f times)",
			n, n/10, median[1], median[0], median[1].Seconds()/median[0].Seconds(), last[1], last[0], last[1].Seconds()/last[0].Seconds())
	}
}

// More pods hang than the operator has workers: a pod whose container ended loses its
// annotations, and another pod is detached.
func TestAllOthersHang(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pods := c.runAll(2, 10, func(int) bool { return false })
	c.startManager(asInCluster())
	c.exportOpen()
	c.annotatedAfter(2)
	for i := range 144 {
		pod := aPod(fmt.Sprintf("hung-%d", i))
		pod.pod.Spec.NodeName = fmt.Sprintf("node-%d", 1+i%10)
		pod.hangs = true
		c.run(pod)
	}
	c.detachesWhileOthersHang(pods[0], pods[1])
}

// detachesWhileOthersHang waits until one pod loses its annotations and another is detached.
func (c *cluster) detachesWhileOthersHang(ended, left *corev1.Pod) {
	c.t.Helper()
	begin := time.Now()
	c.setContainer(ended, crashing("app"))
	eventually(c.t, func() bool { return c.annotations(ended)["prometheus.io/port"] == "" })
	withdrawn := time.Since(begin)
	change(c.t, left, func(pod *corev1.Pod) { pod.Labels["app"] = "other" })
	eventually(c.t, func() bool { return c.attachment(left) == nil && c.annotations(left)["prometheus.io/port"] == "" })
	c.t.Logf("the annotations were removed after %s; then the other pod was detached after %s", withdrawn, time.Since(begin)-withdrawn)
	if unloads := c.jvm(left).Unloads; unloads != 1 {
		c.t.Errorf("unloads in %s: got %d, want 1", left.Name, unloads)
	}
}

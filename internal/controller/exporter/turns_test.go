package exporter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// simulated is the attaching of a new fleet. The two controllers with their queues, the pace
// of exporters and the client's rate limiters are real; reconciles only make as many requests
// as real ones do, in the same order, which the API server answers after latency. The clock is
// simulated.
type simulated struct {
	exporters, pods, workers int
	batchTime                time.Duration

	// limiters are those of the client, which has one for each kind.
	limiters map[string]flowcontrol.RateLimiter
	pace     enqueue.Pace
	// queues of both controllers.
	ofExporters, ofPods workqueue.TypedRateLimitingInterface[ctrl.Request]

	mu    sync.Mutex
	stage map[ctrl.Request][]stage
	// answered is since when the endpoint of a pod answers, and unpublished how long each did
	// until it was published.
	answered           map[ctrl.Request]time.Time
	unpublished        []time.Duration
	requests, attached int
	done               chan struct{}
}

// stage is how far a pod is.
type stage int

const (
	isNew stage = iota
	hasRecord
	answers
	isPublished
	isAttached
)

const latency = 10 * time.Millisecond

// write makes a request for an object of a kind.
func (s *simulated) write(ctx context.Context, kind string) {
	_ = s.limiters[kind].Wait(ctx)
	time.Sleep(latency)
	s.mu.Lock()
	s.requests++
	s.mu.Unlock()
}

// changed raises an event of an exporter's fleet.
func (s *simulated) changed(exporter ctrl.Request) {
	s.ofExporters.AddAfter(exporter, s.pace.Delay(exporter))
}

// move brings the pods of an exporter from one stage to the next, and returns them.
func (s *simulated) move(exporter ctrl.Request, from stage) (pods []ctrl.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, at := range s.stage[exporter] {
		if at == from {
			s.stage[exporter][i]++
			pods = append(pods, podsRequest(exporter, i))
		}
	}
	return pods
}

// podsRequest returns a pod of an exporter, whose name has that of the exporter and an index.
func podsRequest(exporter ctrl.Request, i int) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: exporter.Namespace, Name: fmt.Sprintf("%s-%d", exporter.Name, i)}}
}

func exporterOf(pod ctrl.Request) ctrl.Request {
	pod.Name, _, _ = strings.Cut(pod.Name, "-")
	return pod
}

func indexOf(pod ctrl.Request) int {
	_, index, _ := strings.Cut(pod.Name, "-")
	i, _ := strconv.Atoi(index)
	return i
}

// exporter reconciles an exporter: it writes the slice, a batch of records and the status.
func (s *simulated) exporter(ctx context.Context, exporter ctrl.Request) (ctrl.Result, error) {
	published := s.move(exporter, answers)
	if len(published) > 0 {
		s.write(ctx, "EndpointSlice")
	}
	for _, pod := range published {
		s.mu.Lock()
		s.unpublished = append(s.unpublished, time.Since(s.answered[pod]))
		s.mu.Unlock()
		s.ofPods.Add(pod)
	}
	end := time.Now().Add(s.batchTime)
	created := s.move(exporter, isNew)
	workqueue.ParallelizeUntil(ctx, writers, len(created), func(i int) {
		if time.Now().Before(end) {
			s.write(ctx, "JmxAttachment")
			s.ofPods.Add(created[i])
			return
		}
		s.mu.Lock()
		s.stage[exporter][indexOf(created[i])] = isNew
		s.mu.Unlock()
		s.ofExporters.AddAfter(exporter, time.Millisecond)
	})
	s.write(ctx, "PrometheusJmxExporter")
	return ctrl.Result{}, nil
}

// pod reconciles a pod: with a record until its endpoint answers, with a published endpoint
// until it is annotated.
func (s *simulated) pod(ctx context.Context, pod ctrl.Request) (ctrl.Result, error) {
	exporter, i := exporterOf(pod), indexOf(pod)
	s.mu.Lock()
	at := s.stage[exporter][i]
	s.mu.Unlock()
	writes := map[stage][]string{
		hasRecord:   {"JmxAttachment", "JmxAttachment", "JmxAttachment"},
		isPublished: {"Pod", "JmxAttachment"},
	}[at]
	for _, kind := range writes {
		s.write(ctx, kind)
		s.changed(exporter)
	}
	if len(writes) > 0 {
		s.mu.Lock()
		s.stage[exporter][i]++
		switch at {
		case hasRecord:
			s.answered[pod] = time.Now()
		case isPublished:
			s.attached++
		case isNew, answers, isAttached:
		}
		if s.attached == s.exporters*s.pods {
			close(s.done)
		}
		s.mu.Unlock()
		s.changed(exporter)
	}
	return ctrl.Result{}, nil
}

// start starts a controller with this many workers, and returns its queue.
func start(t *testing.T, workers int, r reconcile.Func) (queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	t.Helper()
	shares := enqueue.Queue{Workers: workers, Clock: clock.RealClock{}}
	c, err := controller.NewUnmanaged("simulated", controller.Options{
		Reconciler: shares.Reconciler(r), RateLimiter: shares.RateLimiter(), MaxConcurrentReconciles: workers, SkipNameValidation: new(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	take := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		queue = q
		return nil
	})
	for _, s := range []source.Source{shares.Source(), take} {
		if err := c.Watch(s); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return queue
}

// run attaches to all pods, with as many workers for pods as by default.
func (s *simulated) run(t *testing.T) {
	t.Helper()
	s.limiters, s.done = map[string]flowcontrol.RateLimiter{}, make(chan struct{})
	for _, kind := range []string{"JmxAttachment", "Pod", "EndpointSlice", "PrometheusJmxExporter"} {
		s.limiters[kind] = flowcontrol.NewTokenBucketRateLimiter(100, 200) // as in cmd/manager
	}
	s.pace = enqueue.Pace{Gather: gather, Period: period, Burst: burst, Clock: clock.RealClock{}}
	s.stage, s.answered = map[ctrl.Request][]stage{}, map[ctrl.Request]time.Time{}
	s.ofExporters, s.ofPods = start(t, s.workers, s.exporter), start(t, 96, s.pod)
	begin := time.Now()
	for i := range s.exporters {
		exporter := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}}
		s.mu.Lock()
		s.stage[exporter] = make([]stage, s.pods)
		s.mu.Unlock()
		s.changed(exporter)
	}
	<-s.done
	took := time.Since(begin)
	time.Sleep(time.Minute) // until nothing is left to do
	synctest.Wait()
	slices.Sort(s.unpublished)
	slices.Sort(s.unpublished)
	t.Logf("%d workers with batches of %s attach to all pods in %s with %.1f requests per pod; of the endpoints that answer, half are published after %s, 95 %% after %s, all after %s",
		s.workers, s.batchTime, took.Round(time.Second), s.perPod(), s.delay(0.5), s.delay(0.95), s.delay(1))
}

func (s *simulated) perPod() float64 { return float64(s.requests) / float64(s.attached) }

// delay returns after what time a share of the endpoints that answer was published.
func (s *simulated) delay(share float64) time.Duration {
	return s.unpublished[int(share*float64(len(s.unpublished)-1))].Round(100 * time.Millisecond)
}

// While 200 exporters attach, 95 % of the endpoints are published within three seconds after they
// answer. Fewer workers, or longer batches, delay them, since an exporter waits for its turn.
// More workers make turns that have less to write.
func TestTurns(t *testing.T) {
	measure := func(workers int, batchTime time.Duration) (s *simulated) {
		synctest.Test(t, func(t *testing.T) {
			s = &simulated{exporters: 200, pods: 10, workers: workers, batchTime: batchTime}
			s.run(t)
		})
		return s
	}
	ours, few := measure(workers, batchTime), measure(4, batchTime)
	for _, other := range []int{32, 128} {
		measure(other, batchTime)
	}
	long := measure(workers, 10*batchTime)
	if got := ours.delay(0.95); got > 3*time.Second || got > few.delay(0.95)/10 || got >= long.delay(0.95) {
		t.Errorf("95 %% of the endpoints are published after %s; with four workers after %s, with long batches after %s", got, few.delay(0.95), long.delay(0.95))
	}
	if got := ours.perPod(); got > 1.2*few.perPod() {
		t.Errorf("requests per pod: got %.1f, want at most 20 %% more than with four workers, %.1f", got, few.perPod())
	}
}

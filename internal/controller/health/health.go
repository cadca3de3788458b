// Package health asks exposed endpoints now and then whether they still answer. It
// is a source of events beside the reconcilers: a JVM that was replaced while its
// container ran on is noticed so, of which the API says nothing.
package health

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// lane is a share of the endpoints, which waits for no other: one that is silent takes
// as long as its timeout, and there may be thousands, behind a NetworkPolicy.
type lane struct {
	silent bool
	// concurrent bounds the endpoints that are asked at once.
	concurrent int
}

var lanes = []lane{{silent: false, concurrent: 64}, {silent: true, concurrent: 32}}

const (
	// tick is how often the Checker looks which endpoints are due.
	tick = time.Second
	// maxPause is the longest time between two checks of an endpoint, if the interval
	// is not longer.
	maxPause = 10 * time.Minute
)

// Prober asks an endpoint whether the process still answers that its record names.
type Prober interface {
	Answers(ctx context.Context, p *v1alpha1.JavaProcess) error
}

// Check is how it went with an endpoint that was asked.
type Check struct {
	// Err is why it did not answer; nil when it did, as far as can be told.
	Err error
	// Misses is how often in a row it did not.
	Misses int32
	// Served is for how long it was seen to answer before.
	Served time.Duration
}

// Checker checks the endpoints that it tracks, each at most once in an interval, soon
// again when it is silent for once, and less often while it stays so. It is safe for
// concurrent use.
type Checker struct {
	prober   Prober
	interval time.Duration
	clock    clock.PassiveClock
	events   chan event.TypedGenericEvent[types.NamespacedName]

	mu   sync.Mutex
	pods map[types.NamespacedName]map[steps.ProcessIdentity]*tracked
}

// tracked is one endpoint that is checked.
type tracked struct {
	process v1alpha1.JavaProcess
	due     time.Time
	misses  int32
	// answeredSince and answeredLast are its first and last answer since it was silent.
	answeredSince, answeredLast time.Time
	// check is the last one that the reconciler has not taken.
	check *Check
}

// New returns a Checker that asks each endpoint once in the interval; with 0 it
// never asks.
func New(prober Prober, interval time.Duration, c clock.PassiveClock) *Checker {
	return &Checker{
		prober: prober, interval: interval, clock: c,
		events: make(chan event.TypedGenericEvent[types.NamespacedName]),
		pods:   map[types.NamespacedName]map[steps.ProcessIdentity]*tracked{},
	}
}

// Track replaces what is checked of a pod: the endpoints of its processes that are
// at the pod's own address.
func (c *Checker) Track(pod types.NamespacedName, podIP string, processes []v1alpha1.JavaProcess) {
	if c.interval == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, now := c.pods[pod], map[steps.ProcessIdentity]*tracked{}
	for i := range processes {
		p := processes[i].DeepCopy()
		if p.Endpoint == nil || p.Endpoint.Address != podIP {
			continue
		}
		id := steps.Identity(p)
		t, ok := before[id]
		// It has answered a moment ago, or serves another certificate: what a check of the
		// one before came to says nothing.
		if !ok || t.process.Endpoint.Silent && !p.Endpoint.Silent || t.process.CertificateSHA256 != p.CertificateSHA256 {
			t = &tracked{due: c.clock.Now().Add(c.pause(p, 0))}
		}
		t.process = *p
		now[id] = t
	}
	if len(now) == 0 {
		delete(c.pods, pod)
		return
	}
	c.pods[pod] = now
}

// Enabled reports whether endpoints are checked at all.
func (c *Checker) Enabled() bool { return c.interval > 0 }

// Forget ends the checks of a pod.
func (c *Checker) Forget(pod types.NamespacedName) { c.Track(pod, "", nil) }

// Take returns the checks of a pod that were not taken yet.
func (c *Checker) Take(pod types.NamespacedName) map[steps.ProcessIdentity]Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	checks := map[steps.ProcessIdentity]Check{}
	for id, t := range c.pods[pod] {
		if t.check != nil {
			checks[id], t.check = *t.check, nil
		}
	}
	return checks
}

// Source is the events of the Checker: a reconcile of each pod with a check that
// says something new.
func (c *Checker) Source() source.Source {
	return source.TypedChannel(c.events, handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: e.Object})
		},
	})
}

// Start implements manager.Runnable: it checks until ctx ends.
func (c *Checker) Start(ctx context.Context) error {
	notify := func(pod types.NamespacedName) {
		select {
		case c.events <- event.TypedGenericEvent[types.NamespacedName]{Object: pod}:
		case <-ctx.Done():
		}
	}
	var checking sync.WaitGroup
	for _, l := range lanes {
		checking.Go(func() {
			wait.UntilWithContext(ctx, func(ctx context.Context) { c.check(ctx, l, notify) }, tick)
		})
	}
	checking.Wait()
	return nil
}

// CheckDue asks the endpoints whose time has come, and returns the pods with a
// check that says something new.
func (c *Checker) CheckDue(ctx context.Context) []types.NamespacedName {
	var mu sync.Mutex
	changed := sets.New[types.NamespacedName]()
	for _, l := range lanes {
		c.check(ctx, l, func(pod types.NamespacedName) {
			mu.Lock()
			defer mu.Unlock()
			changed.Insert(pod)
		})
	}
	return changed.UnsortedList()
}

// check asks the endpoints of a lane whose time has come, and tells each pod with a
// check that says something new, at once.
func (c *Checker) check(ctx context.Context, l lane, notify func(types.NamespacedName)) {
	var asking errgroup.Group
	asking.SetLimit(l.concurrent)
	for pod, processes := range c.due(l) {
		for _, p := range processes {
			asking.Go(func() error {
				err := c.prober.Answers(ctx, &p)
				if ctx.Err() == nil && c.record(pod, &p, err) {
					notify(pod)
				}
				return nil
			})
		}
	}
	asking.Wait() //nolint:errcheck // none returns an error
}

func (c *Checker) due(l lane) map[types.NamespacedName][]v1alpha1.JavaProcess {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	due := map[types.NamespacedName][]v1alpha1.JavaProcess{}
	for pod, endpoints := range c.pods {
		for _, t := range endpoints {
			if !now.Before(t.due) && l.silent == t.silent() {
				due[pod] = append(due[pod], *t.process.DeepCopy())
			}
		}
	}
	return due
}

// silent reports whether the endpoint did not answer last.
func (t *tracked) silent() bool {
	return t.misses > 0 || t.process.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod
}

// examinedMisses is how often in a row an endpoint is silent before that is examined,
// which takes an exec: a fleet that falls silent for a moment is not examined.
const examinedMisses = 2

// record keeps a check, and reports whether it says something new: that an endpoint
// answers which only the helper could reach, that one stays silent which the operator
// could, or that a foreign process answers.
func (c *Checker) record(pod types.NamespacedName, p *v1alpha1.JavaProcess, err error) (isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.pods[pod][steps.Identity(p)]
	if !ok || t.process.CertificateSHA256 != p.CertificateSHA256 {
		return false
	}
	now := c.clock.Now()
	if err != nil {
		t.misses++
	} else {
		if t.misses > 0 || t.answeredSince.IsZero() {
			t.answeredSince = now
		}
		t.misses, t.answeredLast = 0, now
	}
	t.due = now.Add(c.pause(&t.process, t.misses))
	t.check = nil
	if t.process.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod {
		isNew = err == nil
	} else {
		isNew = errors.Is(err, steps.ErrForeign) || t.misses >= examinedMisses
	}
	if isNew {
		t.check = &Check{Err: err, Misses: t.misses, Served: t.answeredLast.Sub(t.answeredSince)}
	}
	return isNew
}

// pause is the time until an endpoint is asked again: shorter when it is silent for
// once, longer each time that it still is, and long for one that only the helper could
// reach, in the pod. Not all in the same second.
func (c *Checker) pause(p *v1alpha1.JavaProcess, misses int32) time.Duration {
	switch {
	case p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod:
		return wait.Jitter(maxPause, 0.1)
	case misses == 1:
		return min(wait.Jitter(c.interval/2, 1), maxPause)
	}
	return wait.Jitter(max(min(c.interval<<min(max(misses-1, 0), 10), maxPause), c.interval), 0.1)
}

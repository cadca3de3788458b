// Package health checks exposed endpoints periodically. It is a source of events besides
// the API: it detects JVMs that were replaced while their container kept running, which
// the API does not show.
package health

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
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
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// lane checks a share of the endpoints independently of other lanes: a silent endpoint
// takes its full timeout, and there may be thousands behind a NetworkPolicy.
type lane struct {
	silent bool
	// concurrent is the maximum number of concurrent checks.
	concurrent int
}

var lanes = []lane{{silent: false, concurrent: 64}, {silent: true, concurrent: 32}}

const (
	// tick is how often the Checker looks for due endpoints.
	tick = time.Second
	// maxPause is the maximum time between two checks of an endpoint, unless the
	// interval is longer.
	maxPause = 10 * time.Minute
	// noticePause is the minimum time between two changes of an endpoint's notices that
	// are news: what an application does at each scrape is written no more often.
	noticePause = 10 * time.Minute
)

// Prober checks whether the process in the record still serves its endpoint.
type Prober interface {
	Answers(ctx context.Context, p *v1alpha1.JavaProcess) (*helperapi.Notices, error)
}

// Check is the result of checking an endpoint.
type Check struct {
	// Err is why the endpoint did not answer; nil if it did, as far as known.
	Err error
	// Misses is the number of consecutive checks without an answer.
	Misses int32
	// Served is how long the endpoint was seen to answer before.
	Served time.Duration
	// Notices are those of the agent; nil if they are as recorded, or unknown.
	Notices *helperapi.Notices
	// ConfigSHA256 is the configuration that Notices are about.
	ConfigSHA256 string
}

// Checker checks tracked endpoints, each at most once per interval: sooner after a
// single miss, and less often while it stays silent. It is safe for concurrent use.
type Checker struct {
	prober   Prober
	interval time.Duration
	clock    clock.PassiveClock
	events   chan event.TypedGenericEvent[types.NamespacedName]

	mu   sync.Mutex
	pods map[types.NamespacedName]map[record.ProcessIdentity]*tracked
}

// tracked is one endpoint that is checked.
type tracked struct {
	process v1alpha1.JavaProcess
	due     time.Time
	misses  int32
	// answeredSince and answeredLast are the first and last answers since the endpoint
	// was last silent.
	answeredSince, answeredLast time.Time
	// noticed is the time at which the recorded notices changed last.
	noticed time.Time
	// check is the last check that the reconciler has not taken yet.
	check *Check
}

// New returns a Checker that checks each endpoint once per interval; with 0 it never
// checks.
func New(prober Prober, interval time.Duration, c clock.PassiveClock) *Checker {
	return &Checker{
		prober: prober, interval: interval, clock: c,
		events: make(chan event.TypedGenericEvent[types.NamespacedName]),
		pods:   map[types.NamespacedName]map[record.ProcessIdentity]*tracked{},
	}
}

// Track replaces the tracked endpoints of a pod with those of its processes that are at
// the pod's own address.
func (c *Checker) Track(pod types.NamespacedName, podIP string, processes []v1alpha1.JavaProcess) {
	if c.interval == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, now := c.pods[pod], map[record.ProcessIdentity]*tracked{}
	for i := range processes {
		p := processes[i].DeepCopy()
		if p.Endpoint == nil || p.Endpoint.Address != podIP {
			continue
		}
		id := record.Identity(p)
		t, ok := before[id]
		// It has just answered, or serves another certificate: earlier checks are
		// obsolete.
		if !ok || t.process.Endpoint.Silent && !p.Endpoint.Silent || t.process.CertificateSHA256 != p.CertificateSHA256 {
			t = &tracked{due: c.clock.Now().Add(c.pause(p, 0))}
		}
		if ok && !equality.Semantic.DeepEqual(t.process.Notices, p.Notices) {
			t.noticed = c.clock.Now()
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

// Forget stops checking a pod.
func (c *Checker) Forget(pod types.NamespacedName) { c.Track(pod, "", nil) }

// Take returns the checks of a pod that were not taken yet.
func (c *Checker) Take(pod types.NamespacedName) map[record.ProcessIdentity]Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	checks := map[record.ProcessIdentity]Check{}
	for id, t := range c.pods[pod] {
		if t.check != nil {
			checks[id], t.check = *t.check, nil
		}
	}
	return checks
}

// Source returns the events of the Checker: a reconcile of each pod with a check that
// has news.
func (c *Checker) Source() source.Source {
	return source.TypedChannel(c.events, handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: e.Object})
		},
	})
}

// Start implements manager.Runnable: it checks until ctx is done.
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

// CheckDue checks the due endpoints, and returns the pods with a check that has news.
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

// check checks the due endpoints of a lane, and notifies about each pod with news at
// once.
func (c *Checker) check(ctx context.Context, l lane, notify func(types.NamespacedName)) {
	var asking errgroup.Group
	asking.SetLimit(l.concurrent)
	for pod, processes := range c.due(l) {
		for _, p := range processes {
			asking.Go(func() error {
				notices, err := c.prober.Answers(ctx, &p)
				if ctx.Err() == nil && c.record(pod, &p, notices, err) {
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

// silent reports whether the endpoint did not answer the last check.
func (t *tracked) silent() bool {
	return t.misses > 0 || t.process.Endpoint.CheckedFrom.Beyond()
}

// examinedMisses is the number of consecutive misses before a silent endpoint is
// examined, which takes an exec: a fleet that is silent for a moment is not examined.
const examinedMisses = 2

// record stores a check, and reports whether it has news: an endpoint answers that only
// the helper could reach, one stays silent that the operator could reach, a foreign
// process answers, or the agent has other notices than recorded.
func (c *Checker) record(pod types.NamespacedName, p *v1alpha1.JavaProcess, notices *helperapi.Notices, err error) (isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.pods[pod][record.Identity(p)]
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
	notices = t.news(notices, now)
	t.check = nil
	if t.process.Endpoint.CheckedFrom.Beyond() {
		isNew = err == nil
	} else {
		isNew = errors.Is(err, probe.ErrForeign) || t.misses >= examinedMisses
	}
	if isNew = isNew || notices != nil; isNew {
		t.check = &Check{Err: err, Misses: t.misses, Served: t.answeredLast.Sub(t.answeredSince), Notices: notices, ConfigSHA256: p.ConfigSHA256}
	}
	return isNew
}

// news returns notices if they are other than recorded, and not too soon after the last
// ones; otherwise nil.
func (t *tracked) news(notices *helperapi.Notices, now time.Time) *helperapi.Notices {
	if notices == nil || now.Sub(t.noticed) < noticePause || !record.Notice(t.process.DeepCopy(), *notices) {
		return nil
	}
	return notices
}

// pause returns the time until the next check of an endpoint: short after a single miss,
// growing while it stays silent, and long for an endpoint that only the helper could
// reach from within the pod. It has jitter.
func (c *Checker) pause(p *v1alpha1.JavaProcess, misses int32) time.Duration {
	switch {
	case p.Endpoint.CheckedFrom.Beyond():
		return wait.Jitter(maxPause, 0.1)
	case misses == 1:
		return min(wait.Jitter(c.interval/2, 1), maxPause)
	}
	return wait.Jitter(max(min(c.interval<<min(max(misses-1, 0), 10), maxPause), c.interval), 0.1)
}

package attachment

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Listener asks endpoints over HTTP whether somebody answers, each at most once
// in an interval. It is how a JVM is missed that was replaced while its
// container ran on, of which the API tells nothing. It is safe for concurrent use.
type Listener struct {
	prober   steps.Prober
	interval time.Duration
	clock    clock.PassiveClock

	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

// NewListener returns a Listener; with the interval 0 it never asks.
func NewListener(prober steps.Prober, interval time.Duration, clock clock.PassiveClock) *Listener {
	return &Listener{prober: prober, interval: interval, clock: clock, last: map[types.NamespacedName]time.Time{}}
}

// Silent are the processes whose endpoint answered the operator before, and does
// not now. What only the helper could reach, in the pod, is not asked.
func (l *Listener) Silent(ctx context.Context, s *steps.Scope) []steps.ProcessIdentity {
	audible := audible(s)
	if len(audible) == 0 || !l.due(client.ObjectKeyFromObject(s.Attachment)) {
		return nil
	}
	var silent []steps.ProcessIdentity
	for _, p := range audible {
		if err := l.prober.Answers(ctx, p.Endpoint.Address, p.Endpoint.Port); err != nil {
			ctrl.LoggerFrom(ctx).Info("endpoint silent", "container", p.Container, "port", p.Endpoint.Port, "error", err)
			silent = append(silent, steps.Identity(p))
		}
	}
	return silent
}

// Forget forgets an attachment that is gone.
func (l *Listener) Forget(attachment types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, attachment)
}

// next is when to listen again; 0 for never.
func (l *Listener) next(s *steps.Scope) time.Duration {
	if l.interval == 0 || len(audible(s)) == 0 {
		return 0
	}
	// Not all pods in the same second.
	return wait.Jitter(l.interval, 0.2)
}

func (l *Listener) due(attachment types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	last, asked := l.last[attachment]
	if l.interval == 0 || asked && now.Sub(last) < l.interval {
		return false
	}
	l.last[attachment] = now
	// The first time is that of the probe, which has just answered.
	return asked
}

// audible are the processes whose endpoint answered the operator itself, once
// they are on record as exposed.
func audible(s *steps.Scope) []*v1alpha1.JavaProcess {
	var audible []*v1alpha1.JavaProcess
	if !statemachine.Phase(s.Status().Phase).Reached(statemachine.Exposed) {
		return nil
	}
	for _, p := range s.Chosen() {
		if p.Endpoint != nil && p.Endpoint.CheckedFrom == v1alpha1.CheckedFromOperator {
			audible = append(audible, p)
		}
	}
	return audible
}

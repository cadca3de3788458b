package attachment

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Listener asks endpoints over HTTP whether their JVMs answer, each at most once
// in an interval. It is how a JVM is missed that was replaced while its
// container ran on, of which the API tells nothing. It is safe for concurrent use.
type Listener struct {
	prober   steps.Prober
	interval time.Duration
	clock    clock.PassiveClock

	mu sync.Mutex
	// pods are the endpoints that are listened to, by attachment.
	pods map[types.NamespacedName]map[steps.ProcessIdentity]hearing
}

// hearing is when to ask an endpoint, and how often in a row it was lost.
type hearing struct {
	next   time.Time
	misses int32
}

// heard is how it went with one endpoint that was asked.
type heard struct {
	process *v1alpha1.JavaProcess
	// err is why it is lost; nil when its JVM answered, as far as can be told.
	err error
	// misses is how often in a row it was lost.
	misses int32
}

// NewListener returns a Listener; with the interval 0 it never asks.
func NewListener(prober steps.Prober, interval time.Duration, clock clock.PassiveClock) *Listener {
	return &Listener{prober: prober, interval: interval, clock: clock, pods: map[types.NamespacedName]map[steps.ProcessIdentity]hearing{}}
}

// listen asks the endpoints of an attachment whose time has come.
func (l *Listener) listen(ctx context.Context, s *steps.Scope) []heard {
	if l.interval == 0 {
		return nil
	}
	before, now := l.recall(s), l.clock.Now()
	hearings := map[steps.ProcessIdentity]hearing{}
	var all []heard
	for i := range s.Status().Processes {
		p := &s.Status().Processes[i]
		if p.Endpoint == nil {
			continue
		}
		h, known := before[steps.Identity(p)]
		switch {
		case !known: // it has answered a moment ago
			h.next = now.Add(l.pause(p, 0))
		case !now.Before(h.next):
			err := l.prober.Answers(ctx, p)
			h.misses++
			if err == nil {
				h.misses = 0
			}
			h.next = now.Add(l.pause(p, h.misses))
			all = append(all, heard{p, err, h.misses})
		}
		hearings[steps.Identity(p)] = h
	}
	l.remember(s, hearings)
	return all
}

// pause is the time until an endpoint is asked again: longer each time that it
// is silent, and long for one that only the helper could reach, in the pod. Not
// all in the same second.
func (l *Listener) pause(p *v1alpha1.JavaProcess, misses int32) time.Duration {
	pause := l.interval << min(misses, 10)
	if p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod {
		pause = maxBackoff
	}
	return wait.Jitter(min(pause, maxBackoff), 0.1)
}

// next is the time until an endpoint of the attachment is to be asked; 0 for never.
func (l *Listener) next(s *steps.Scope) time.Duration {
	var next time.Duration
	for _, h := range l.recall(s) {
		until := max(h.next.Sub(l.clock.Now()), time.Millisecond)
		if next == 0 || until < next {
			next = until
		}
	}
	return next
}

// Forget forgets an attachment that is gone.
func (l *Listener) Forget(attachment types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pods, attachment)
}

func (l *Listener) recall(s *steps.Scope) map[steps.ProcessIdentity]hearing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[client.ObjectKeyFromObject(s.Attachment)]
}

func (l *Listener) remember(s *steps.Scope, hearings map[steps.ProcessIdentity]hearing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pods[client.ObjectKeyFromObject(s.Attachment)] = hearings
}

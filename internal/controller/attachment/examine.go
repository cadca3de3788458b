package attachment

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// examine collects the state of the endpoints whose health checks failed. Nothing is
// executed as long as all endpoints answer.
func (v *visit) examine(ctx context.Context) {
	s := v.scope
	s.Health = map[steps.ProcessIdentity]steps.Health{}
	for id, check := range v.Health.Take(v.key()) {
		p := s.Known(id)
		if p == nil || p.Endpoint == nil {
			continue
		}
		switch {
		case check.Err == nil:
			p.Endpoint.CheckedFrom = v1alpha1.CheckedFromOperator
			continue
		case p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod:
			continue // as before
		}
		health := steps.Health{
			Finding: s.Examine(ctx, p, check.Misses),
			Foreign: errors.Is(check.Err, steps.ErrForeign),
			Misses:  check.Misses,
			Served:  check.Served,
		}
		if health.Finding == steps.FindingServing && !health.Foreign { // what keeps the operator out would be examined for ever
			p.Endpoint.CheckedFrom = v1alpha1.CheckedFromPod
		}
		ctrl.LoggerFrom(ctx).Info("health check failed", "container", p.Container, "port", p.Endpoint.Port, "error", check.Err, "finding", health.Finding)
		s.Health[id] = health
	}
}

const (
	// reinspectDelay is the minimum time between a pod becoming ready and its next
	// inspection.
	reinspectDelay = 30 * time.Second
	// reinspectSpread spreads the inspections of a fleet that becomes ready at once.
	reinspectSpread = 40 * time.Second
)

// reinspectAfter returns the time until a container is inspected again because its pod
// became ready since the last inspection: a JVM may have started late. 0 means now;
// negative means that there is no need, for example for a pod that was ready before and
// is health checked.
func reinspectAfter(s *steps.Scope, entry *v1alpha1.InspectedContainer, checked bool) time.Duration {
	ready := steps.ReadySince(s.Pod)
	if !s.Chooses() || entry.Time == nil || !ready.After(entry.Time.Time) {
		return -1
	}
	unreachable := func(p *v1alpha1.JavaProcess) bool {
		return p.Container == entry.Name && p.Endpoint != nil && p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod
	}
	if entry.Ready && checked && len(s.Filter(unreachable)) == 0 {
		return -1
	}
	hash := fnv.New32a()
	hash.Write([]byte(s.Pod.UID))
	delay := reinspectDelay + time.Duration(hash.Sum32()%uint32(reinspectSpread/time.Second))*time.Second
	return max(delay-s.Now.Sub(ready), 0)
}

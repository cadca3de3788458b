package exporter

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// progressPeriod is how often a status is written in which only figures changed: how many
// pods are how far. Anything else is written at once. A rollout would otherwise write its
// exporter's status, which grows with its fleet, every second.
const progressPeriod = 5 * time.Second

// progress holds when the status of each exporter was written last. It is safe for concurrent
// use.
type progress struct {
	// period is the time between two writes of figures; 0 for none.
	period time.Duration

	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
}

// wait returns the time until a status may be written after another one; 0 for none.
func (p *progress) wait(exporter types.NamespacedName, before, after *v1alpha1.PrometheusJmxExporterStatus, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.written[exporter].Add(p.period).Sub(now)
	if left <= 0 || left > p.period || !equality.Semantic.DeepEqual(withoutFigures(before), withoutFigures(after)) {
		return 0
	}
	return left
}

// note records a write.
func (p *progress) note(exporter types.NamespacedName, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.written = map[types.NamespacedName]time.Time{}
	}
	p.written[exporter] = now
}

func (p *progress) forget(exporter types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, exporter)
}

// withoutFigures returns a status without the figures that change while pods make progress,
// and the messages that quote them. It shares the rest with the status.
func withoutFigures(of *v1alpha1.PrometheusJmxExporterStatus) v1alpha1.PrometheusJmxExporterStatus {
	s := *of
	s.Phase, s.Phases, s.Pods, s.Matched, s.Updated, s.Refused, s.Preflight = "", nil, "", 0, 0, 0, nil
	s.MetricsEndpoints, s.MetricsEndpointsOmitted = nil, 0
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		if s.Conditions[i].Type != v1alpha1.ConditionConfigValid {
			s.Conditions[i].Message = ""
		}
	}
	return s
}

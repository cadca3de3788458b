// Package metrics holds the operator's own metrics, served by the manager.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// The names of what is counted in the cache.
const (
	attachmentsName = "jmx_exporter_operator_attachments"
	problemPodsName = "jmx_exporter_operator_problem_pods"
)

var (
	stepDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "jmx_exporter_operator_step_duration_seconds",
		Help:    "How long a step took, by the phase that it is to reach.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2.5, 10),
	}, []string{"phase"})
	stepOutcomes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jmx_exporter_operator_step_outcomes_total",
		Help: "How steps ended, by the phase that they are to reach and the condition's reason.",
	}, []string{"phase", "reason"})
	effectsInFlight = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "jmx_exporter_operator_effects_in_flight",
		Help: "Effects in progress, by kind: execs in containers, HTTP requests, reads of logs, reviews of rights, writes to the API.",
	}, []string{"kind"})
	effectsDone = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jmx_exporter_operator_effects_total",
		Help: "Effects that ended, by kind and result (success or error).",
	}, []string{"kind", "result"})
	execBytes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jmx_exporter_operator_exec_bytes_total",
		Help: "Bytes on exec streams, which pass the API server, by direction (sent to containers or received).",
	}, []string{"direction"})
)

// Register registers the metrics; attachments and problem pods are counted in the cache
// when they are asked for. With names, these two have the names of namespaces and
// exporters as labels.
func Register(cache client.Reader, names bool) {
	metrics.Registry.MustRegister(stepDuration, stepOutcomes, effectsInFlight, effectsDone, execBytes,
		NewAttachmentCollector(cache, names), NewProblemCollector(cache, names))
}

// ObserveStep records how a step ended.
func ObserveStep(phase, reason string, took time.Duration) {
	stepDuration.WithLabelValues(phase).Observe(took.Seconds())
	stepOutcomes.WithLabelValues(phase, reason).Inc()
}

// Seam is an effects.Seam that counts.
func Seam(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
	inFlight := effectsInFlight.WithLabelValues(string(effect.Kind))
	inFlight.Inc()
	defer inFlight.Dec()
	err := do(ctx)
	result := "success"
	if err != nil {
		result = "error"
	}
	effectsDone.WithLabelValues(string(effect.Kind), result).Inc()
	return err
}

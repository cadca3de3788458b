// Package metrics holds the operator's own metrics, served by the manager.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// Names of the metrics that are counted in the cache.
const (
	attachmentsName = "jmx_exporter_operator_attachments"
	conditionsName  = "jmx_exporter_operator_attachment_conditions"
	problemPodsName = "jmx_exporter_operator_problem_pods"
	refusedPodsName = "jmx_exporter_operator_refused_pods"
	failingPodsName = "jmx_exporter_operator_failing_pods"
	haltsName       = "jmx_exporter_operator_halted_rollouts"
	restartsName    = "jmx_exporter_operator_restarted_pods"
	stalledName     = "jmx_exporter_operator_stalled_exporters"
	certificateName = "jmx_exporter_operator_certificate_expiry_timestamp_seconds"
)

var (
	stepDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "jmx_exporter_operator_step_duration_seconds",
		Help:    "Duration of steps in seconds, by target phase.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2.5, 10),
	}, []string{"phase"})
	stepOutcomes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jmx_exporter_operator_step_outcomes_total",
		Help: "Number of completed steps, by target phase and condition reason.",
	}, []string{"phase", "reason"})
	effectsInFlight = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "jmx_exporter_operator_effects_in_flight",
		Help: "Number of effects in progress, by kind: execs, HTTP requests, log reads, access reviews and API writes.",
	}, []string{"kind"})
	effectsDone = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jmx_exporter_operator_effects_total",
		Help: "Number of completed effects, by kind and result (success or error).",
	}, []string{"kind", "result"})
	totalShards = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "jmx_exporter_operator_total_shards",
		Help: "Number of operators that share the namespaces, as set by --total-shards.",
	})
	waiting = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "jmx_exporter_operator_waiting_requests",
		Help: "Number of exporters and pods that wait without a worker to be reconciled, by controller and by what they wait for: a worker, or a place for an exec or a probe.",
	}, []string{"controller", "reason"})
	execBytes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jmx_exporter_operator_exec_bytes_total",
		Help: "Number of bytes on exec streams through the API server, by direction (sent to containers or received from them).",
	}, []string{"direction"})
)

// ObserveStep records how a step ended.
func ObserveStep(phase, reason string, took time.Duration) {
	stepDuration.WithLabelValues(phase).Observe(took.Seconds())
	stepOutcomes.WithLabelValues(phase, reason).Inc()
}

// Waiting returns the number of reconciles of a controller that wait for a worker of the
// share of their namespace.
func Waiting(controller string) prometheus.Gauge {
	return waiting.WithLabelValues(controller, "worker")
}

// CountWaiting counts the pods that wait for a place for an exec or a probe. It is called
// when one begins to wait, with 1, and when it ends, with -1.
func CountWaiting(probes bool, change int) {
	reason := "exec"
	if probes {
		reason = "probe"
	}
	waiting.WithLabelValues("jmxattachment", reason).Add(float64(change))
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

// Package metrics holds the operator's own metrics, served by the manager.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
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
	attachments = prometheus.NewDesc("jmx_exporter_operator_attachments",
		"JmxAttachments by phase, and by the reason why their next phase does not hold.",
		[]string{"namespace", "phase", "reason"}, nil)
	problemPods = prometheus.NewDesc("jmx_exporter_operator_problem_pods",
		"Pods that have an exporter's labels and do not run, by reason; those that its status has no room for are Omitted.",
		[]string{"namespace", "exporter", "reason"}, nil)
)

// Register registers the metrics; attachments and problem pods are counted in
// the cache when they are asked for.
func Register(cache client.Reader) {
	metrics.Registry.MustRegister(stepDuration, stepOutcomes, effectsInFlight, effectsDone, execBytes,
		attachmentCollector{cache}, ProblemCollector{cache})
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

type attachmentCollector struct{ cache client.Reader }

// Describe implements prometheus.Collector.
func (attachmentCollector) Describe(descs chan<- *prometheus.Desc) { descs <- attachments }

// Collect implements prometheus.Collector.
func (c attachmentCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a scrape has no context
	defer cancel()
	var list v1alpha1.JmxAttachmentList
	if err := c.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(attachments, err)
		return
	}
	type labels struct{ namespace, phase, reason string }
	counts := map[labels]float64{}
	for i := range list.Items {
		a := &list.Items[i]
		counts[labels{a.Namespace, string(a.Status.Phase), a.Status.Reason}]++
	}
	for l, count := range counts {
		out <- prometheus.MustNewConstMetric(attachments, prometheus.GaugeValue, count, l.namespace, l.phase, l.reason)
	}
}

// ProblemCollector counts what the exporters' status says of pods that do not
// run.
type ProblemCollector struct{ Cache client.Reader }

// Describe implements prometheus.Collector.
func (ProblemCollector) Describe(descs chan<- *prometheus.Desc) { descs <- problemPods }

// Collect implements prometheus.Collector.
func (c ProblemCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a scrape has no context
	defer cancel()
	var list v1alpha1.PrometheusJmxExporterList
	if err := c.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(problemPods, err)
		return
	}
	for i := range list.Items {
		e := &list.Items[i]
		counts := map[string]float64{}
		for _, p := range e.Status.ProblemPods {
			counts[p.Reason]++
		}
		if e.Status.ProblemPodsOmitted > 0 {
			counts["Omitted"] += float64(e.Status.ProblemPodsOmitted)
		}
		for reason, count := range counts {
			out <- prometheus.MustNewConstMetric(problemPods, prometheus.GaugeValue, count, e.Namespace, e.Name, reason)
		}
	}
}

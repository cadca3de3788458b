package integration

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A cause is why an alert fires, and mend ends it.
type cause struct {
	alert, reason string
	mend          func()
}

// causes makes those in pods and exporters.
func (c *cluster) causes(o *operator) []cause {
	c.alerts("exporter", 0)
	crashing := c.run(aPod("app-0").without("app"))
	c.crash(crashing, 1)
	incomplete, expensive, refusing, failing := aPod("app-1"), aPod("app-2"), aPod("app-3"), aPod("app-4")
	incomplete.jvms["app"][0].Notices = skips(1, "app", "InvalidValue")
	expensive.jvms["app"][0].Notices = helperapi.Notices{Expensive: &helperapi.Expensive{Reason: "CPU"}}
	refusing.jvms["app"][0].Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Off."}
	failing.jvms["app"][0].Fault = fault(v1alpha1.ReasonAttachTimeout)
	for _, p := range []*podBuilder{incomplete, expensive, refusing, failing} {
		c.run(p)
	}
	rejecting := c.exportTo("rejecting", func(*v1alpha1.PrometheusJmxExporter) {})
	rejects := aPod("rejects")
	rejects.pod.Labels = map[string]string{"app": "rejecting"}
	rejects.jvms["app"][0].Fault = fault(v1alpha1.ReasonConfigRejected)
	c.run(rejects)
	pausing := c.exportTo("pausing", func(*v1alpha1.PrometheusJmxExporter) {})
	exits := aPod("exits")
	exits.pod.Labels = map[string]string{"app": "pausing"}
	exiting := c.run(exits)
	o.settle()
	c.restart(exiting)
	stalled := c.exportTo("stalled", func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Config.ConfigMapName = "none" })
	c.exportTo("secured", func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	})
	secret := create(c.t, c.secretFor()) // for a day

	gone := func(pod string) func() {
		return func() { remove(c.t, &corev1.Pod{ObjectMeta: c.named(pod)}) }
	}
	return []cause{
		{"JmxPodsNotRunning", "CrashLoopBackOff", func() { c.runAgain(crashing, 2); o.settle() }},
		{"JmxScrapesIncomplete", "InvalidValue", gone("app-1")},
		{"JmxScrapesExpensive", "CPU", gone("app-2")},
		{"JmxPodsRefused", "AttachDisabled", gone("app-3")},
		{"JmxPodsFailing", "AttachTimeout", func() { failing.jvms["app"][0].Fault = nil }},
		{"JmxRolloutHalted", "ConfigRejected", func() {
			rejects.jvms["app"][0].Fault = nil
			change(c.t, rejecting, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "again"}
			})
		}},
		{"JmxPodsRestarted", "pausing", func() {
			change(c.t, pausing, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "again"}
			})
		}},
		{"JmxExporterStalled", "ConfigMapMissing", func() {
			change(c.t, stalled, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Config.ConfigMapName = "rules" })
		}},
		{"JmxCertificateExpiring", "secured", func() {
			c.later(30 * 24 * time.Hour)
			change(c.t, secret, func(s *corev1.Secret) { s.Data = c.secretFor().Data })
		}},
	}
}

// exportTo creates an exporter for pods with its name as label.
func (c *cluster) exportTo(name string, how func(*v1alpha1.PrometheusJmxExporter)) *v1alpha1.PrometheusJmxExporter {
	e := c.anExporter(name)
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(name)}
	how(e)
	return create(c.t, e)
}

// servedForAlerts are an operator's metrics, a JVM's that cannot be scraped, and a JVM's that
// are incomplete.
// elected is closed: a replica without leader election.
var elected = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

type servedForAlerts struct {
	operator, endpoint, incomplete string
	operatorUp, endpointUp, whole  atomic.Bool
	leader                         prometheus.Gauge
}

func serveForAlerts(t *testing.T, c *cluster) *servedForAlerts {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Collectors(inNamespace{admin, c.namespace}, true, shard.Shard{}, elected)...)
	// controller-runtime's metric, with the namespace label that Prometheus adds to a target.
	leader := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "leader_election_master_status", Help: "Whether this replica is the leader."}, []string{"namespace", "name"})
	shards := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "jmx_exporter_operator_total_shards", Help: "Number of shards."}, []string{"namespace"})
	registry.MustRegister(leader, shards)
	shards.WithLabelValues("jmx-exporter-system").Set(1)
	leader.WithLabelValues("other-system", "other-operator").Set(1)
	s := &servedForAlerts{leader: leader.WithLabelValues("jmx-exporter-system", "jmx-exporter-operator")}
	s.operatorUp.Store(true)
	serve := func(up *atomic.Bool, handler http.Handler) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !up.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	var always atomic.Bool
	always.Store(true)
	s.operator = serve(&s.operatorUp, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	s.endpoint = serve(&s.endpointUp, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "jmx_scrape_error 0\n") }))
	s.incomplete = serve(&always, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := "jmx_scrape_error 1\n"
		if s.whole.Load() {
			text = "jmx_scrape_error 0\n"
		}
		_, _ = io.WriteString(w, text)
	}))
	return s
}

// causes are those in what is served.
func (s *servedForAlerts) causes() []cause {
	return []cause{
		{"JmxExporterOperatorHasNoLeader", "jmx-exporter-system", func() { s.leader.Set(1) }}, // although another operator has a leader
		{"JmxEndpointDown", "shop", func() { s.endpointUp.Store(true) }},
		{"JmxScrapeErrors", "incomplete", func() { s.whole.Store(true) }},
	}
}

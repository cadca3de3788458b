package integration

import (
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// jobs are the files of config/prometheus/jobs, for a scraper that runs outside of a cluster
// and scrapes often.
type jobs struct {
	// kubeconfig is that of the scraper, namespace the one with the secured endpoint, and
	// folder has the files of its Secret.
	kubeconfig, namespace, folder string
}

// file writes one of them.
func (j jobs) file(t *testing.T, name string) string {
	t.Helper()
	return j.write(t, name, readFile(t, filepath.Join("../../config/prometheus/jobs", name+".yaml")))
}

func (j jobs) write(t *testing.T, name, text string) string {
	t.Helper()
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("/etc/metrics", j.folder, "[shop]", "["+j.namespace+"]").Replace(text)), &parsed); err != nil {
		t.Fatal(err)
	}
	for _, job := range list(parsed, "scrape_configs") {
		job["scrape_interval"], job["scrape_timeout"] = "2s", "2s"
		for _, discovery := range list(job, "kubernetes_sd_configs") {
			discovery["kubeconfig_file"] = j.kubeconfig
		}
	}
	return write(t, t.TempDir(), name+".yaml", parsed)
}

// The job for secured endpoints as the documentation had it: the target chooses the scheme.
const leakingJobs = `
scrape_configs:
  - job_name: jmx
    tls_config: {ca_file: /etc/metrics/ca.crt, server_name: metrics.shop}
    basic_auth: {username: prometheus, password_file: /etc/metrics/password}
    kubernetes_sd_configs: [{role: endpointslice}]
    relabel_configs:
      - {source_labels: [__meta_kubernetes_service_labelpresent_banzaicloud_com_exporter_uid], regex: "true", action: keep}
      - {source_labels: [__meta_kubernetes_endpointslice_port_app_protocol], regex: (https), target_label: __scheme__}
      - {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
  - job_name: annotated-pods
    tls_config: {ca_file: /etc/metrics/ca.crt, server_name: metrics.shop}
    basic_auth: {username: prometheus, password_file: /etc/metrics/password}
    kubernetes_sd_configs: [{role: pod}]
    relabel_configs:
      - {source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape], regex: "true", action: keep}
      - {source_labels: [__meta_kubernetes_pod_ip, __meta_kubernetes_pod_annotation_prometheus_io_port], separator: ":", target_label: __address__}
      - {source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scheme], regex: (https), target_label: __scheme__}
      - {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
`

// With the files of config/prometheus/jobs, a real Prometheus scrapes a secured endpoint, and
// plain ones, and sends its password to nobody else: neither to a labeled Service nor to an
// annotated pod of another tenant, over plain HTTP or TLS, also in the namespace of the
// endpoint. With the jobs as they were, each of them receives it that can.
func TestSecuredJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.clock.SetTime(time.Now()) // Prometheus compares the certificate with a real clock
	endpoint := exportSecurely(c)
	tenant := newCluster(t)
	var listeners []*listener
	for _, of := range []*cluster{tenant, c} {
		for _, scheme := range []string{"http", "https"} {
			listeners = append(listeners, of.foreignService(scheme), of.foreignPod(scheme))
		}
	}
	j := jobs{kubeconfig(t, c.discoverer()), c.namespace, endpoint.folder}
	scrapes := func(t *testing.T, files ...string) prometheusServer {
		t.Helper()
		for _, l := range listeners {
			l.forget()
		}
		return startPrometheus(t, map[string]any{"scrape_config_files": files})
	}
	up := func(p prometheusServer) bool {
		return slices.ContainsFunc(p.targets(c.namespace), func(target string) bool { return strings.HasSuffix(target, "https://"+endpoint.address+"/metrics") })
	}

	t.Run("the job as it was", func(t *testing.T) {
		p := scrapes(t, j.write(t, "leaking", leakingJobs))
		eventually(t, func() bool {
			return up(p) && !slices.ContainsFunc(listeners, func(l *listener) bool { return l.scheme == "http" && len(l.passwords()) == 0 })
		})
		for _, l := range listeners {
			t.Logf("%s received %q", l.what, l.passwords())
		}
	})
	t.Run("config/prometheus/jobs", func(t *testing.T) {
		p := scrapes(t, j.file(t, "annotations"), j.file(t, "endpointslices"), j.file(t, "secured"))
		eventually(t, func() bool {
			refused := strings.Join(p.targets(c.namespace), "\n")
			return up(p) && strings.Contains(refused, "certificate signed by unknown authority") &&
				!slices.ContainsFunc(listeners, func(l *listener) bool { return l.scheme == "http" && l.requests() < 2 })
		})
		for _, l := range listeners {
			if got := l.passwords(); len(got) > 0 {
				t.Errorf("%s received the credentials %q", l.what, got)
			}
		}
	})
}

// listener is a server of a tenant, which records what scrapers send it.
type listener struct {
	what, scheme string
	port         int32
	mu           sync.Mutex
	seen         []string
}

// listen serves until the end of the test, over TLS with a certificate of the tenant's own.
func (c *cluster) listen(what, scheme string) *listener {
	c.t.Helper()
	l := &listener{what: what + " of " + c.namespace + " over " + scheme, scheme: scheme}
	inner, err := net.Listen("tcp", net.JoinHostPort(ownAddress(c.t), "0"))
	if err != nil {
		c.t.Fatal(err)
	}
	server := &httptest.Server{Listener: inner, Config: &http.Server{Handler: l}} //nolint:gosec // until the end of the test
	if scheme == "http" {
		server.Start()
	} else {
		certificate, key, err := cert.GenerateSelfSignedCertKey(endpointName, nil, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			c.t.Fatal(err)
		}
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.StartTLS()
	}
	c.t.Cleanup(server.Close)
	l.port = int32(inner.Addr().(*net.TCPAddr).Port)
	return l
}

// ServeHTTP implements http.Handler.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, r.Header.Get("Authorization"))
	_, _ = w.Write([]byte("stolen 1\n"))
}

func (l *listener) requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen)
}

// passwords returns the credentials that were received.
func (l *listener) passwords() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.seen), func(s string) bool { return s == "" })
}

func (l *listener) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = nil
}

// foreignService is a Service like the operator's, of somebody who may write Services.
func (c *cluster) foreignService(scheme string) *listener {
	c.t.Helper()
	l := c.listen("a Service", scheme)
	labels := map[string]string{v1alpha1.LabelExporterUID: "mine", v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}
	name := "service-" + scheme
	service := &corev1.Service{ObjectMeta: c.named(name), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "metrics", Port: l.port}}}}
	service.Labels = labels
	create(c.t, service)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: c.named(name), AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{ownAddress(c.t)}}},
		Ports: []discoveryv1.EndpointPort{{Name: new("metrics"), Port: &l.port, AppProtocol: &scheme}},
	}
	slice.Labels = maps.Clone(labels)
	slice.Labels[discoveryv1.LabelServiceName] = name
	create(c.t, slice)
	return l
}

// foreignPod is a pod with annotations, of somebody who may create pods.
func (c *cluster) foreignPod(scheme string) *listener {
	c.t.Helper()
	l := c.listen("a pod", scheme)
	p := aPod("pod-"+scheme).annotated(v1alpha1.AnnotationScrape, "true").annotated(v1alpha1.AnnotationPort, strconv.Itoa(int(l.port))).
		annotated(v1alpha1.AnnotationScheme, scheme).at(ownAddress(c.t))
	p.pod.Labels = map[string]string{"app": "foreign"}
	c.run(p)
	return l
}

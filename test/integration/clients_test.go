package integration

import (
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"
)

// vmagent and the OpenTelemetry collector, with the file of config/prometheus/jobs for
// secured endpoints, discover a JVM by its EndpointSlice and scrape it over TLS with a password: a Prometheus
// to which they send has every series of the endpoint, and they reject none. All of these
// are real, as are the JVM and its agent; the operator that publishes the endpoint sees a
// scripted container.
func TestClients(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.clock.SetTime(time.Now()) // clients compare the certificate with a real clock
	endpoint := exportSecurely(c)
	endpoint.refusesOthers(t)
	discoverer := kubeconfig(t, c.discoverer())
	for name, run := range map[string]func(*testing.T, scraper) (rejects []string){
		"vmagent": runVmagent,
		"otelcol": runCollector,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPrometheus(t, clientFile(t, "prometheus"), "--web.enable-remote-write-receiver", "--web.enable-otlp-receiver")
			s := scraper{own: address(t), to: p.address, file: jobs{discoverer, c.namespace, endpoint.folder}.file(t, "secured")}
			rejects := run(t, s)
			var missing string
			if !soon(t, func() bool {
				want, err := endpoint.series(t.Context())
				if err != nil {
					missing = err.Error()
					return false
				}
				missing = cmp.Diff(want, p.series(`{job="jmx",namespace="`+c.namespace+`"}`, "job", "instance", "namespace", "pod"))
				return missing == ""
			}) {
				t.Errorf("series of the endpoint and those in Prometheus (-want +got):\n%s", missing)
			}
			own := page(t, "http://"+s.own+"/metrics")
			for _, reject := range rejects {
				if got := regexp.MustCompile(`(?m)^`+reject+`.* [^0\s]\S*$`).FindAllString(own, -1); len(got) > 0 {
					t.Errorf("%s has rejected samples: %q", name, got)
				}
			}
			if !strings.Contains(own, rejects[0]) {
				t.Errorf("%s does not say what it rejects: no %s among its own metrics", name, rejects[0])
			}
		})
	}
}

// scraper is a client of endpoints that is to be started.
type scraper struct {
	// own is the address of its own metrics, to that of the Prometheus to which it sends, and
	// file that of its jobs.
	own, to, file string
}

func runVmagent(t *testing.T, c scraper) []string {
	t.Helper()
	start(t, tools(t, "vmagent")[0], "-promscrape.config="+c.file, "-remoteWrite.url=http://"+c.to+"/api/v1/write",
		"-remoteWrite.tmpDataPath="+filepath.Join(t.TempDir(), "queue"), "-httpListenAddr="+c.own)
	return []string{"vm_rows_invalid_total", "vmagent_remotewrite_packets_dropped_total"}
}

func runCollector(t *testing.T, c scraper) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(c.own)
	if err != nil {
		t.Fatal(err)
	}
	own := write(t, t.TempDir(), "own.yaml", `service: {telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: `+host+`, port: `+port+`}}}}]}}}`)
	text, err := yaml.Marshal(clientFile(t, "otelcol"))
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.NewReplacer("/etc/otelcol/secured.yaml", c.file, "prometheus:9090", c.to).Replace(string(text))
	start(t, tools(t, "otelcol")[0], "--config="+write(t, t.TempDir(), "otelcol.yaml", shown), "--config="+own)
	return []string{"otelcol_receiver_refused_metric_points", "otelcol_exporter_send_failed_metric_points"}
}

// clientFile returns the file of docs/prometheus.md that starts with the command of a program.
func clientFile(t *testing.T, program string) map[string]any {
	t.Helper()
	_, file, found := strings.Cut(readFile(t, "../../docs/prometheus.md"), "```yaml\n# "+program+" -")
	if !found {
		t.Fatalf("docs/prometheus.md has no file for %s", program)
	}
	file, _, _ = strings.Cut(file, "```")
	_, file, _ = strings.Cut(file, "\n")
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(file), &parsed); err != nil {
		t.Fatalf("docs/prometheus.md, %s: %v", program, err)
	}
	return parsed
}

// series returns the series of an expression without these labels, and without those that
// a scraper adds for each target.
func (p prometheusServer) series(expression string, without ...model.LabelName) []string {
	p.t.Helper()
	var answer struct{ Result model.Vector }
	p.get("/api/v1/query?query="+url.QueryEscape(expression), &answer)
	found := map[string]bool{}
	for _, sample := range answer.Result {
		if name := string(sample.Metric[model.MetricNameLabel]); name == "up" || strings.HasPrefix(name, "scrape_") {
			continue
		}
		maps.DeleteFunc(sample.Metric, func(label model.LabelName, _ model.LabelValue) bool { return slices.Contains(without, label) })
		found[sample.Metric.String()] = true
	}
	return slices.Sorted(maps.Keys(found))
}

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
)

// A pod that crashes, or whose scrape is incomplete, fires an alert at a webhook and in
// Slack, which resolves once the pod runs; an operator without a leader fires one, too, even next to another operator. Both use
// the rules of config/prometheus and the route of docs/alerting.md, with a real Prometheus and a real
// Alertmanager.
func TestAlerting(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	c.alerts("exporter", 0)
	pod := c.run(aPod("app-0").without("app"))
	c.crash(pod, 1)
	incomplete := aPod("app-1")
	incomplete.jvms["app"][0].notices = skips(1, "app", "InvalidValue")
	c.run(incomplete)
	o.settle()

	binaries, err := exec.CommandContext(t.Context(), "../../hack/binaries", "prometheus", "alertmanager").Output()
	if err != nil {
		t.Fatalf("hack/binaries: %v", err)
	}
	prometheusBinary, alertmanagerBinary, _ := strings.Cut(strings.TrimSpace(string(binaries)), "\n")
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Collectors(inNamespace{admin, c.namespace}, true)...)
	// controller-runtime's metric, with the namespace label that Prometheus adds to a target.
	leader := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "leader_election_master_status", Help: "Whether this replica is the leader."}, []string{"namespace", "name"})
	registry.MustRegister(leader)
	leader.WithLabelValues("jmx-exporter-system", "jmx-exporter-operator").Set(0)
	leader.WithLabelValues("other-system", "other-operator").Set(1)
	operator := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(operator.Close)
	webhook, slack := receive(t), receive(t)

	dir := t.TempDir()
	rules, route := shippedRules(t), documented(t, "route")
	for _, group := range rules["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			rule.(map[string]any)["for"] = "0s"
		}
	}
	for _, r := range route["route"].(map[string]any)["routes"].([]any) {
		r.(map[string]any)["group_wait"], r.(map[string]any)["group_interval"] = "0s", "1s"
	}
	for _, r := range route["receivers"].([]any) {
		for _, w := range list(r, "webhook_configs") {
			w["url"] = webhook.URL
		}
		for _, s := range list(r, "slack_configs") {
			s["api_url_file"] = write(t, dir, "slack", slack.URL)
		}
	}
	alertmanager, server := address(t), address(t)
	start(t, alertmanagerBinary, "--config.file="+write(t, dir, "alertmanager.yaml", route), "--storage.path="+filepath.Join(dir, "alertmanager"),
		"--web.listen-address="+alertmanager, "--cluster.listen-address=")
	start(t, prometheusBinary, "--storage.tsdb.path="+filepath.Join(dir, "prometheus"), "--web.listen-address="+server,
		"--config.file="+write(t, dir, "prometheus.yaml", map[string]any{
			"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
			"rule_files": []string{write(t, dir, "rules.yaml", rules)},
			"alerting":   map[string]any{"alertmanagers": []any{targets(alertmanager)}},
			"scrape_configs": []any{map[string]any{
				"job_name": "operator", "honor_labels": true, "static_configs": targets(operator.Listener.Addr().String())["static_configs"],
			}},
		}))

	webhook.until(t, "firing", "JmxPodsNotRunning", "CrashLoopBackOff")
	slack.until(t, "FIRING JmxPodsNotRunning", "1 selected pods do not run: CrashLoopBackOff")
	slack.until(t, "FIRING JmxScrapesIncomplete", "the metrics of 1 pods are incomplete: InvalidValue")

	c.runAgain(pod, 2)
	o.settle()
	c.later(time.Minute)
	o.settle()
	webhook.until(t, "resolved", "JmxPodsNotRunning", "CrashLoopBackOff")
	slack.until(t, "RESOLVED JmxPodsNotRunning")

	webhook.until(t, "firing", "JmxExporterOperatorHasNoLeader") // although another operator has a leader
	leader.WithLabelValues("jmx-exporter-system", "jmx-exporter-operator").Set(1)
	webhook.until(t, "resolved", "JmxExporterOperatorHasNoLeader")
}

// shippedRules returns the rules of config/prometheus.
func shippedRules(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../config/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rule struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &rule); err != nil {
		t.Fatal(err)
	}
	return rule.Spec
}

// documented returns the block of YAML in docs/alerting.md that begins with a key.
func documented(t *testing.T, key string) map[string]any {
	t.Helper()
	page, err := os.ReadFile("../../docs/alerting.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		var content map[string]any
		if err := yaml.Unmarshal([]byte(block), &content); err != nil {
			t.Fatalf("docs/alerting.md: %v in\n%s", err, block)
		}
		if content[key] != nil {
			return content
		}
	}
	t.Fatalf("docs/alerting.md has no block with %s", key)
	return nil
}

// list returns the objects under a key; none if the key is missing.
func list(in any, key string) (all []map[string]any) {
	items, _ := in.(map[string]any)[key].([]any)
	for _, item := range items {
		all = append(all, item.(map[string]any))
	}
	return all
}

func targets(address string) map[string]any {
	return map[string]any{"static_configs": []any{map[string]any{"targets": []any{address}}}}
}

// write writes a string, or a value as YAML, to a file and returns its path.
func write(t *testing.T, dir, name string, content any) string {
	t.Helper()
	text, isText := content.(string)
	if !isText {
		data, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// address returns an unused address of this host.
func address(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start runs a program until the test ends, and logs its output if the test failed.
func start(t *testing.T, name string, args ...string) {
	t.Helper()
	output := &strings.Builder{}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(name), output)
		}
	})
}

// A receiver records the bodies that are posted to it.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		_, _ = io.WriteString(answer, "ok") // as Slack does
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, string(body))
	}))
	t.Cleanup(r.Close)
	return r
}

// until waits for a JSON body that contains all of these words.
func (r *receiver) until(t *testing.T, words ...string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, body := range r.bodies {
			if !json.Valid([]byte(body)) {
				return false, fmt.Errorf("no JSON: %s", body)
			}
			if all(body, words) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("no body contains %q; got %q: %v", words, r.bodies, err)
	}
}

// all reports whether a text contains all of the words.
func all(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// Each alert fires at a webhook for a cause made on purpose, and is resolved when the cause
// is mended; Slack receives some of them, too. All use the rules of config/prometheus and
// the route of docs/alerting.md, with a real Prometheus and a real Alertmanager.
func TestAlerting(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.clock.SetTime(time.Now()) // certificates expire in Prometheus' time
	o := c.operate()
	webhook, slack := receive(t), receive(t)
	served := serveForAlerts(t, c)
	causes := append(c.causes(o), served.causes()...)
	caused := []string{"JmxExporterOperatorDown"} // below, since an operator that is down reports nothing
	for _, cause := range causes {
		caused = append(caused, cause.alert)
	}
	if diff := cmp.Diff(alertNames(shippedRules(t)), caused, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("alerts with a cause (-alerts +causes):\n%s", diff)
	}
	o.tire()
	served.operatorUp.Store(false)
	c.startAlerting(served, webhook, slack)

	webhook.until(t, "firing", "JmxExporterOperatorDown", "docs/troubleshooting.md#the-operator-is-down")
	served.operatorUp.Store(true)
	webhook.until(t, "resolved", "JmxExporterOperatorDown")
	for _, cause := range causes {
		webhook.until(t, "firing", cause.alert, cause.reason, "docs/troubleshooting.md#")
	}
	slack.until(t, "FIRING JmxPodsNotRunning", "Selected pods that do not run: 1 (CrashLoopBackOff)")
	slack.until(t, "FIRING JmxScrapesIncomplete", "Pods with incomplete metrics: 1 (InvalidValue)")
	for _, cause := range causes {
		cause.mend()
	}
	c.later(time.Minute) // a container that was restarted stays listed until then
	o.tire()
	for _, cause := range causes {
		webhook.until(t, "resolved", cause.alert, cause.reason)
	}
	slack.until(t, "RESOLVED JmxPodsNotRunning")
}

// startAlerting starts an Alertmanager and a Prometheus that alerts at once.
func (c *cluster) startAlerting(served *servedForAlerts, webhook, slack *receiver) {
	t, dir := c.t, c.t.TempDir()
	t.Helper()
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
	alertmanager := address(t)
	start(t, tools(t, "alertmanager")[0], "--config.file="+write(t, dir, "alertmanager.yaml", route), "--storage.path="+filepath.Join(dir, "alertmanager"),
		"--web.listen-address="+alertmanager, "--cluster.listen-address=")
	startPrometheus(t, map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{write(t, dir, "rules.yaml", rules)},
		"alerting":   map[string]any{"alertmanagers": []any{map[string]any{"static_configs": labeled(alertmanager, nil)}}},
		"scrape_configs": []any{
			map[string]any{"job_name": "jmx-exporter-operator", "honor_labels": true, "static_configs": labeled(served.operator, nil)},
			map[string]any{"job_name": "jmx", "static_configs": []any{
				labeled(served.endpoint, map[string]string{"namespace": "shop", "exporter": "shop"})[0],
				labeled(served.incomplete, map[string]string{"namespace": "shop", "exporter": "incomplete"})[0],
			}},
		},
	}, "--rules.alert.resend-delay=1s") // what fires before the Alertmanager is known is sent again
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

func alertNames(rules map[string]any) (names []string) {
	for _, group := range list(rules, "groups") {
		for _, rule := range list(group, "rules") {
			names = append(names, rule["alert"].(string))
		}
	}
	return names
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

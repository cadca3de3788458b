package integration

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// maybeEmpty are the expressions that return nothing here, and why.
var maybeEmpty = map[string]string{
	"jmx_exporter_operator_exec_bytes_total": "the containers of this test are scripted: they have no streams",
	"jmx_exporter_operator_restarted_pods":   "no container of this test exits after an attach",
}

// Every expression of every panel returns series of a real Prometheus, which scrapes an
// operator with attached, refused and failing pods, and a real JVM with the agent.
func TestDashboards(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, object := range c.kustomize("namespace: " + c.namespace + "\ncomponents: [CONFIG/grafana]\n") {
		applyStrictly(t, object)
	}
	operator := c.operatorWithEverything()
	application := runJVM(t)
	p := startPrometheus(t, map[string]any{
		"global": map[string]any{"scrape_interval": "1s"},
		"scrape_configs": []any{
			map[string]any{
				"job_name": "jmx-exporter-operator", "honor_labels": true, "scheme": "https", "tls_config": map[string]any{"insecure_skip_verify": true},
				"authorization":  map[string]any{"credentials": c.token("prometheus")},
				"static_configs": labeled(operator, map[string]string{"namespace": c.namespace}),
			},
			map[string]any{"job_name": "jmx", "static_configs": labeled(application, map[string]string{"namespace": "shop", "pod": "shop-0", "exporter": "shop"})},
			map[string]any{"job_name": "down", "static_configs": labeled("127.0.0.1:1", map[string]string{"job": "jmx", "namespace": "shop"})},
		},
	})
	fill := strings.NewReplacer("$__rate_interval", "1m", "$namespace", ".*", "$pod", ".*")
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			because := ""
			for part, reason := range maybeEmpty {
				if strings.Contains(target.Expr, part) {
					because = reason
				}
			}
			found := soon(t, func() bool { return p.query(fill.Replace(target.Expr)) > 0 || because != "" })
			if !found {
				t.Errorf("%s, %s: no series for %s", panel.board, panel.Title, target.Expr)
			}
			if because != "" && panel.FieldConfig.Defaults.NoValue != "none" {
				t.Errorf("%s, %s: may be empty (%s), and does not say why", panel.board, panel.Title, because)
			}
		}
	}
}

// panel is a panel of a dashboard, as far as these tests read it.
type panel struct {
	board, Title, Type string
	Targets            []struct{ Expr string }
	Description        string
	FieldConfig        struct{ Defaults struct{ NoValue string } }
}

// panels returns those of all dashboards.
func panels(t *testing.T) (all []panel) {
	t.Helper()
	files, err := filepath.Glob("../../config/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct{ Panels []panel }
		if err := json.Unmarshal(data, &board); err != nil {
			t.Fatal(err)
		}
		for _, p := range board.Panels {
			p.board = filepath.Base(file)
			if p.Type != "row" && (p.Title == "" || len(p.Targets) == 0) {
				t.Errorf("%s: a panel without title or expression", p.board)
			}
			if quiet := p.FieldConfig.Defaults.NoValue == "none"; quiet != strings.Contains(p.Description, "Empty while ") {
				t.Errorf("%s, %s: a panel that may be empty is to say when, and only such a panel", p.board, p.Title)
			}
			all = append(all, p)
		}
	}
	return all
}

// operatorWithEverything runs an operator with names in its metrics, for pods that are
// attached, refused, crash and halt a rollout, and returns the address of its metrics.
func (c *cluster) operatorWithEverything() string {
	c.t.Helper()
	c.clock.SetTime(time.Now()) // this operator has a real clock
	incomplete, refused, halting := aPod("app-0"), aPod("app-1"), aPod("app-2")
	incomplete.jvms["app"][0].Notices = skips(1, "app", "InvalidValue")
	refused.jvms["app"][0].Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Off."}
	halting.pod.Labels = map[string]string{"app": "canary"}
	halting.jvms["app"][0].Fault = fault(v1alpha1.ReasonConfigRejected)
	crashes := c.run(aPod("app-3").without("app"))
	c.crash(crashes, 1)
	c.run(incomplete)
	c.run(refused)
	c.run(halting)

	c.grant("operator-of-"+c.namespace, "../../config/rbac/leader_election_role.yaml")
	c.grant("operator-of-"+c.namespace, "../../config/endpoint-security/role.yaml")
	create(c.t, c.secretFor())
	c.configure(rules)
	secured, canary := c.anExporter("secured"), c.anExporter("canary")
	secured.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	secured.Spec.Alerts = v1alpha1.Alerts{CheckRunningPods: true}
	canary.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "canary"}
	create(c.t, secured)
	create(c.t, canary)

	metrics.Register(inNamespace{admin, c.namespace}, true, shard.Shard{}, elected) // in the process's registry, which only this test's operator does
	folder := c.t.TempDir()
	writeCertificate(c.t, folder)
	address := c.serveMetricsAt("127.0.0.1", manager.CertificateFiles{Dir: folder, Cert: "tls.crt", Key: "tls.key"}, func(o *manager.Options) {
		o.LeaderElect, o.LeaderNamespace, o.Seam = true, c.namespace, metrics.Seam
		o.Sessions = func() attachment.Session { return perCall{c.containers.Through(metrics.Seam)} }
		o.Prober = c.containers.Prober(metrics.Seam)
	})
	c.grantPrometheus()
	return address
}

// startJVM builds the agent and the helper, and runs the test application until the test
// ends.
func startJVM(t *testing.T) *exec.Cmd {
	t.Helper()
	for _, build := range []string{"agent/build", "test/apps/build", "hack/helper-build"} {
		if out, err := exec.CommandContext(t.Context(), filepath.Join("../..", build)).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
	}
	java := exec.Command("java", "-Xmx64m", "-jar", "../../bin/apps/dummyapp/dummyapp.jar")
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = java.Process.Kill()
		_ = java.Wait()
	})
	return java
}

// runJVM runs a JVM with the agent, which cannot serve one of its rules, and returns the
// address of its metrics.
func runJVM(t *testing.T) string {
	t.Helper()
	java := startJVM(t)
	served := address(t)
	_, port, err := net.SplitHostPort(served)
	if err != nil {
		t.Fatal(err)
	}
	configuration := write(t, t.TempDir(), "config.yaml", "rules:\n- pattern: 'java.lang<type=Threading><>ThreadCount'\n  name: jvm_threads_current\n- pattern: 'java.lang.*'\n")
	var out []byte
	loaded := soon(t, func() bool { // a JVM that has just started is left to its start
		out, err = exec.CommandContext(t.Context(), "../../bin/jmx-attach", "load", "--pid", strconv.Itoa(java.Process.Pid), "--port", port, "--config", configuration).CombinedOutput()
		return err == nil
	})
	if !loaded {
		t.Fatalf("jmx-attach load: %v\n%s", err, out)
	}
	return served
}

func labeled(address string, labels map[string]string) []any {
	return []any{map[string]any{"targets": []string{address}, "labels": labels}}
}

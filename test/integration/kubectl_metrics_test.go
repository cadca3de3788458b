package integration

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// served is a part of what the agent served in a JVM 17.
const served = `# HELP jmx_exporter_collection_allocated_bytes Heap that the collection of this answer allocated, in bytes.
# TYPE jmx_exporter_collection_allocated_bytes gauge
jmx_exporter_collection_allocated_bytes 2333408.0
# HELP jmx_exporter_collection_cpu_seconds CPU time of the collection of this answer, in seconds.
# TYPE jmx_exporter_collection_cpu_seconds gauge
jmx_exporter_collection_cpu_seconds 0.017362577
# HELP jmx_exporter_collection_duration_seconds Time that the collection of this answer took, in seconds.
# TYPE jmx_exporter_collection_duration_seconds gauge
jmx_exporter_collection_duration_seconds 0.116012684
# HELP jmx_exporter_collection_mbeans MBeans that the collection of this answer read.
# TYPE jmx_exporter_collection_mbeans gauge
jmx_exporter_collection_mbeans 29.0
# HELP jmx_exporter_collection_series Series in this answer that rules made of MBeans.
# TYPE jmx_exporter_collection_series gauge
jmx_exporter_collection_series 22.0
# HELP jvm_memory_used_bytes Used bytes of a given JVM memory area.
# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{area="heap"} 5.7E7
jvm_memory_used_bytes{area="nonheap"} 3.1E7
`

// ofRules are the series that the rules of TestKubectlTop make.
func ofRules() string {
	made := "java_Memory 1.0\njava_Threading 1.0\n"
	for i := range 20 {
		made += fmt.Sprintf("example_Cache_Size{name=\"%d\"} 1.0\n", i)
	}
	return made
}

// ruleCosts is served only if it is asked for by name.
const ruleCosts = `# HELP jmx_exporter_collection_rule_cpu_seconds CPU time of the collection of this answer by number of the rule, in seconds, estimated from some matches of each.
# TYPE jmx_exporter_collection_rule_cpu_seconds gauge
jmx_exporter_collection_rule_cpu_seconds{rule="1"} 5.544E-5
jmx_exporter_collection_rule_cpu_seconds{rule="2"} 0.009337872
`

// agent serves like the agent: all metrics, or the named ones.
func agent(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["name[]"]
	for line := range strings.Lines(served + ruleCosts) {
		name := strings.FieldsFunc(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), func(r rune) bool { return r == ' ' || r == '{' })[0]
		if slices.Contains(names, name) || len(names) == 0 && name != "jmx_exporter_collection_rule_cpu_seconds" {
			fmt.Fprint(w, line)
		}
	}
}

func forwarder() []rbacv1.PolicyRule {
	return append(viewer(), allow("", "pods/portforward", "create", "get"))
}

// onKubelet creates the shop on a node with a kubelet that forwards ports to an agent.
func onKubelet(t *testing.T, name string) (*shop, *kubelet) {
	t.Helper()
	node := aKubelet(t, fakenode.New(t), "node-of-"+name)
	s := aShop(t, name)
	s.node = "node-of-" + name
	s.fill()
	return s, node
}

// The metrics of a JVM come through a port-forward; of a pod with several, those of the
// primary one, or of the one that is asked for.
func TestKubectlMetrics(t *testing.T) {
	t.Parallel()
	s, node := onKubelet(t, "metrics")
	authorized := ""
	primary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorized += r.Header.Get("Authorization")
		agent(w, r)
	}))
	t.Cleanup(primary.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "of_the_other_jvm 1.0") }))
	t.Cleanup(other.Close)
	node.Listen(s.pods["payroll-0"], 9400, primary)
	node.Listen(s.pods["payroll-0"], 9404, other)
	k := aKubectl(t, "forwarder", s.namespace, forwarder()...)
	if got := k.must("metrics", "-n", s.namespace, "payroll-0"); got != served {
		t.Errorf("metrics: got\n%s", got)
	}
	compare(t, "metrics", strings.ReplaceAll(k.transcript("metrics", "-n", s.namespace, "payroll-0", "--filter", "^jvm_"), "-n "+s.namespace, "-n shop"))
	if got, want := k.must("metrics", "-n", s.namespace, "payroll-0", "--filter", "^jvm_", "-o", "jsonpath={[0].name} {[0].type} {[0].metric[1].gauge.value}"), "jvm_memory_used_bytes GAUGE 3.1e+07"; got != want {
		t.Errorf("metrics with a JSONPath template: got %q, want %q", got, want)
	}
	if got := k.must("metrics", "-n", s.namespace, "payroll-0", "--jvm", "worker"); got != "of_the_other_jvm 1.0\n" {
		t.Errorf("metrics of worker: got %q", got)
	}
	with := *k
	with.stdin = "secret"
	with.must("metrics", "-n", s.namespace, "payroll-0", "--username", "prometheus", "--password-file", "-")
	if authorized != "" {
		t.Errorf("an endpoint without TLS was sent %q", authorized)
	}
	k.fails([]string{"metrics", "-n", s.namespace, "payroll-0", "--jvm", "none"}, "--jvm takes one of app/1, worker/7")
	k.fails([]string{"metrics", "-n", s.namespace, "payroll-0", "--filter", "("}, "--filter is not a regular expression")
	k.fails([]string{"metrics", "-n", s.namespace, "payroll-1"}, "phase Discovered (AttachDisabled)", "kubectl jmx why -n metrics payroll-1")
	hung := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(hung) })
	node.Listen(s.pods["payroll-0"], 9404, hanging)
	k.fails([]string{"metrics", "-n", s.namespace, "payroll-0", "--jvm", "worker", "--timeout", "1s"}, "no complete response within 1s", "--timeout")
	if got := k.must("top", "-n", s.namespace, "--timeout", "2s"); !strings.Contains(got, "17.36ms") || !strings.Contains(got, "payroll-0 worker/7: port 9404 of pod payroll-0 does not answer: no complete response within 2s") {
		t.Errorf("top with a JVM that does not answer: got\n%s", got)
	}
	node.Forget()
	k.fails([]string{"metrics", "-n", s.namespace, "payroll-0"}, "port 9400 of pod payroll-0 does not answer", "nothing listens on port 9400")
	viewer := aKubectl(t, "no-forwarder", s.namespace, viewer()...)
	viewer.fails([]string{"metrics", "-n", s.namespace, "payroll-0"}, "cannot create resource \"pods/portforward\"")
}

// A secured endpoint gets credentials only if it has the certificate that the operator
// recorded. The user name comes from the Secret, if the user may read it.
func TestKubectlMetricsOverTLS(t *testing.T) {
	t.Parallel()
	s, node := onKubelet(t, "secured")
	asked := ""
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked += user + ":" + password + " "
		switch {
		case len(r.TLS.PeerCertificates) == 0:
			http.Error(w, "no certificate", http.StatusForbidden)
		case user != "prometheus" || password != "secret":
			http.Error(w, "no password", http.StatusUnauthorized)
		default:
			agent(w, r)
		}
	})
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	node.Listen(s.pods["payroll-0"], 9400, server)
	secret := s.secretFor()
	secret.Data["username"] = []byte("prometheus")
	create(t, secret)
	change(t, s.payroll, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	})
	folder := t.TempDir()
	cert, key, password := filepath.Join(folder, "cert"), filepath.Join(folder, "key"), filepath.Join(folder, "password")
	for file, content := range map[string][]byte{cert: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey], password: []byte("secret\n")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := aKubectl(t, "scraper", s.namespace, forwarder()...)
	args := []string{"metrics", "-n", s.namespace, "payroll-0", "--cert", cert, "--key", key}

	s.secure("payroll-0", strings.Repeat("0", 64))
	k.fails(append(args, "--username", "prometheus", "--password-file", password), "a foreign process answers")
	if asked != "" {
		t.Errorf("a foreign process was sent %q", asked)
	}
	sum := sha256.Sum256(server.Certificate().Raw)
	s.secure("payroll-0", hex.EncodeToString(sum[:]))
	k.fails(args[:4], "needs a client certificate", "--cert and --key")
	k.fails(args, "needs a password", "--password-file")
	if got := k.must(append(args, "--username", "prometheus", "--password-file", password)...); got != served {
		t.Errorf("metrics: got\n%s", got)
	}
	k.fails(append(args, "--password-file", password), "the user name is in Secret metrics; give it with --username", `cannot get resource "secrets"`)
	reader := aKubectl(t, "reader", s.namespace, append(forwarder(), allow("", "secrets", "get"))...)
	reader.stdin = "secret"
	if got := reader.must(append(args, "--password-file", "-")...); got != served {
		t.Errorf("metrics: got\n%s", got)
	}
	s.secure("payroll-0", "")
	k.fails(args, "does not say which certificate")
}

// What a scrape costs each JVM, and each rule; the rules' patterns come from the ConfigMap.
func TestKubectlTop(t *testing.T) {
	t.Parallel()
	s, node := onKubelet(t, "cost")
	primary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent(w, r); r.URL.RawQuery == "" {
			fmt.Fprint(w, ofRules())
		}
	}))
	t.Cleanup(primary.Close)
	stock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "jmx_scrape_error 0.0") }))
	t.Cleanup(stock.Close)
	node.Listen(s.pods["payroll-0"], 9400, primary)
	node.Listen(s.pods["payroll-0"], 9404, stock)
	s.configure(`rules:
- {pattern: 'java.lang<type=(\w+)>.*', name: java_$1}
- {pattern: 'com.example<type=(\w+), name=(.+)><>(\w+)', name: example_$1_$3, labels: {name: $2}}
`)
	k := aKubectl(t, "costs", s.namespace, forwarder()...)
	shown := func(args ...string) string { // as of the namespace shop, whose name is as long
		return strings.NewReplacer("-n "+s.namespace, "-n shop", s.namespace+"/", "shop/").Replace(k.transcript(args...))
	}
	compare(t, "top", shown("top", "-n", s.namespace))
	compare(t, "top-pod", shown("top", "-n", s.namespace, "payroll-0"))
	if got := k.must("top", "-n", s.namespace, "-o", "json"); !strings.Contains(got, `"cpuSeconds": 0.017362577`) {
		t.Errorf("-o json: got\n%s", got)
	}
	if got, want := k.must("top", "-n", s.namespace, "-o", "name"), "pod/payroll-0\n"; got != want { // of two JVMs
		t.Errorf("-o name: got %q, want %q", got, want)
	}
	s.records["payroll-0"].Status.Processes[0].ConfigSHA256 = strings.Repeat("0", 64)
	if err := admin.Status().Update(t.Context(), s.records["payroll-0"]); err != nil {
		t.Fatal(err)
	}
	if got := k.must("top", "-n", s.namespace, "payroll-0"); strings.Contains(got, "com.example<") {
		t.Errorf("the ConfigMap has another configuration than the JVM serves, and top prints its patterns:\n%s", got)
	}
	k.fails([]string{"top", "-n", s.namespace, "--exporter", "ledger"}, "no JVM here serves metrics")
	k.stdin = "secret"
	k.fails([]string{"top", "-n", s.namespace, "--username", "prometheus", "--password-file", "-"}, "pods of one exporter only", "--exporter")
}

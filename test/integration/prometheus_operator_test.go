package integration

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The API server accepts the objects of config/prometheus by the CRDs of prometheus-operator,
// which makes a configuration of them; a Prometheus with it has exactly one target for each
// JVM, and scrapes the operator over HTTPS with its token. Prometheus, prometheus-operator
// and the API server are real; pods have no JVMs, and a server of this test answers for them.
func TestPrometheusOperator(t *testing.T) {
	t.Parallel()
	startPrometheusOperator(t)
	jvms := newCluster(t)
	host := ownAddress(t)
	exporter := exportAt(jvms, host)
	one, two := fmt.Sprintf("jmx %s http://%s:%d/metrics", exporter.name, host, exporter.ports[0]), fmt.Sprintf("jmx %s http://%s:%d/metrics", exporter.name, host, exporter.ports[1])
	plain := newCluster(t)
	for _, object := range plain.kustomize("namespace: " + plain.namespace + "\ncomponents: [CONFIG/prometheus, CONFIG/prometheus/namespaced]\n") {
		applyStrictly(t, object)
	}
	for way, test := range map[string]struct {
		components string
		job        string
		want       []string
	}{
		"ServiceMonitor": {"CONFIG/prometheus", "serviceMonitor/%s/jmx-exporters/0", []string{one, two}},
		"ScrapeConfig":   {"CONFIG/prometheus, CONFIG/prometheus/scrapeconfig", "scrapeConfig/%s/jmx-exporters", []string{one, two}},
		// Annotations name one JVM, and not the exporter.
		"PodMonitor": {"CONFIG/prometheus, CONFIG/prometheus/podmonitor", "podMonitor/%s/jmx-exporters/0", []string{strings.Replace(one, exporter.name, "", 1)}},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for _, object := range c.kustomize(fmt.Sprintf("namespace: %s\ncomponents: [%s]\n", c.namespace, test.components)) {
				applyStrictly(t, object)
			}
			operator := c.operatorAt(host)
			applyStrictly(t, c.aPrometheus())
			configuration := c.generated(fmt.Sprintf(test.job, c.namespace), fmt.Sprintf("serviceMonitor/%s/jmx-exporter-operator/0", c.namespace))
			p := startPrometheus(t, outsideOfPod(configuration, kubeconfig(t, c.discoverer()), write(t, t.TempDir(), "token", c.token("prometheus")), c.rules()))

			// Discovery has settled when both jobs have been scraped.
			want := append(slices.Clone(test.want), "jmx-exporter-operator  https://"+operator+"/metrics")
			slices.Sort(want)
			var got []string
			settled := func() bool {
				got = p.targets(jvms.namespace, c.namespace)
				slices.Sort(got)
				return cmp.Equal(want, got)
			}
			if !soon(t, settled) {
				t.Errorf("targets (-want +got):\n%s", cmp.Diff(want, got))
			}
			if !soon(t, func() bool {
				return p.query(`up{job="jmx"} == 1`) >= len(test.want) && p.query(`certwatcher_read_certificate_total or controller_runtime_reconcile_total{job="jmx-exporter-operator"}`) > 0
			}) {
				t.Error("Prometheus has no samples of the JVMs or of the operator")
			}
			var rules struct{ Groups []struct{ Name string } }
			if !p.get("/api/v1/rules", &rules) || len(rules.Groups) != 2 {
				t.Errorf("Prometheus has the groups of rules %v, want two", rules.Groups)
			}
		})
	}
}

// startPrometheusOperator installs the CRDs of prometheus-operator and runs it.
func startPrometheusOperator(t *testing.T) {
	t.Helper()
	binary := tools(t, "prometheus-operator")[0]
	installMonitors(t)
	dir := t.TempDir()
	start(t, binary, "--apiserver="+config.Host, "--web.listen-address="+address(t), "--web.enable-tls=false",
		"--ca-file="+write(t, dir, "ca", string(config.CAData)), "--cert-file="+write(t, dir, "cert", string(config.CertData)), "--key-file="+write(t, dir, "key", string(config.KeyData)))
}

// exported is an exporter of a pod with two JVMs, and the ports of their endpoints.
type exported struct {
	name  string
	ports []int32
}

// exportAt runs a pod with two JVMs, two declared ports and a container without Java, and
// serves its endpoints. Discovery of pods makes several targets of such a pod. A second
// exporter's endpoint speaks TLS, and needs a monitor of its own.
func exportAt(c *cluster, host string) exported {
	c.t.Helper()
	o := c.operate()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "jmx_scrape_error 0\n") })
	first := c.serveAt(host, 0, handler)
	var taken []int32
	second := helperapi.FirstPort // the port that is chosen for the second JVM
	for c.serveAt(host, second, handler) == 0 {
		taken = append(taken, second)
		second++
	}

	p := aPod("app-0").container("worker", aJVM(javaStartTime+1)).container("sidecar").at(host)
	p.pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "admin", ContainerPort: 8081}}
	pod := c.run(p)
	c.container(pod).Busy = taken
	secured := aPod("secured-0").at(host)
	secured.pod.Labels = map[string]string{"app": "secured"}
	securedPod := c.run(secured)
	c.configure(rules)
	create(c.t, c.secretFor())
	withTLS := c.anExporter("secured")
	withTLS.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "secured"}
	withTLS.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	create(c.t, withTLS)
	e := c.anExporter("payroll")
	e.Spec.Port = first
	create(c.t, e)
	o.tire()
	if got := phaseOf(c.attachment(securedPod)); got != isAnnotated {
		c.t.Fatalf("the pod with TLS is %s", got)
	}
	var ports []int32
	for _, process := range c.attachment(pod).Status.Processes {
		ports = append(ports, process.Port)
	}
	if want := []int32{first, second}; !slices.Equal(ports, want) {
		c.t.Fatalf("the JVMs have the ports %v, want %v", ports, want)
	}
	return exported{e.Name, ports}
}

// applyStrictly applies an object as kubectl does. The API server rejects fields that it does
// not know, as for every apply.
func applyStrictly(t *testing.T, object client.Object) {
	t.Helper()
	err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.(*unstructured.Unstructured)), client.FieldOwner("kubectl"))
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
}

// operatorAt runs an operator, and returns the address of its metrics. No controller makes
// EndpointSlices here: this one is what that of Kubernetes would make.
func (c *cluster) operatorAt(host string) string {
	c.t.Helper()
	folder := c.t.TempDir()
	writeCertificate(c.t, folder)
	operator := c.serveMetricsAt(host, manager.CertificateFiles{Dir: folder, Cert: "tls.crt", Key: "tls.key"})
	c.grantPrometheus()
	service := &corev1.Service{ObjectMeta: c.named("jmx-exporter-operator-metrics")}
	get(c.t, service)
	labels := maps.Clone(service.Labels)
	labels[discoveryv1.LabelServiceName] = service.Name
	_, number, err := net.SplitHostPort(operator)
	if err != nil {
		c.t.Fatal(err)
	}
	port, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		c.t.Fatal(err)
	}
	create(c.t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: service.Name, Labels: labels},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &service.Spec.Ports[0].Name, Port: new(int32(port))}},
	})
	return operator
}

// aPrometheus selects all monitors and rules of its namespace.
func (c *cluster) aPrometheus() client.Object {
	all := map[string]any{}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus",
		"metadata": map[string]any{"name": "k8s", "namespace": c.namespace},
		"spec": map[string]any{
			"serviceMonitorSelector": all, "podMonitorSelector": all, "scrapeConfigSelector": all, "ruleSelector": all,
			"scrapeInterval": "1s", "evaluationInterval": "1s",
		},
	}}
}

// discoverer returns a user with the rights that docs/prometheus.md names.
func (c *cluster) discoverer() *rest.Config {
	c.t.Helper()
	name := "prometheus-of-" + c.namespace
	create(c.t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"services", "pods"}, Verbs: []string{"get", "list", "watch"}},
	}})
	create(c.t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	return addUser(c.t, name)
}

// generated returns the configuration that prometheus-operator has made, once it has these
// jobs.
func (c *cluster) generated(jobs ...string) string {
	c.t.Helper()
	var text string
	secret := &corev1.Secret{ObjectMeta: c.named("prometheus-k8s")}
	found := soon(c.t, func() bool {
		if !get(c.t, secret) || len(secret.Data["prometheus.yaml.gz"]) == 0 {
			return false
		}
		unzipped, err := gzip.NewReader(bytes.NewReader(secret.Data["prometheus.yaml.gz"]))
		if err != nil {
			c.t.Fatal(err)
		}
		data, err := io.ReadAll(unzipped)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(data)
		return all(text, jobs)
	})
	if !found {
		c.t.Fatalf("prometheus-operator makes no configuration with the jobs %q; it has made:\n%s", jobs, text)
	}
	return text
}

// rules returns a file with the rules that prometheus-operator has made.
func (c *cluster) rules() string {
	c.t.Helper()
	var rules string
	found := soon(c.t, func() bool {
		var list corev1.ConfigMapList
		c.list(&list, client.HasLabels{"prometheus-name"})
		for _, m := range list.Items {
			for _, data := range m.Data {
				rules = data
			}
		}
		return rules != ""
	})
	if !found {
		c.t.Fatal("prometheus-operator makes no ConfigMap of rules")
	}
	return write(c.t, c.t.TempDir(), "rules.yaml", rules)
}

// outsideOfPod replaces in a configuration what only a pod has: its way to the API server,
// its token, its volume of rules, and what the config reloader fills in.
func outsideOfPod(configuration, kubeconfig, token, rules string) any {
	filled := strings.NewReplacer("/var/run/secrets/kubernetes.io/serviceaccount/token", token, "$(SHARD)", "0", "$(POD_NAME)", "prometheus-k8s-0").Replace(configuration)
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(filled), &parsed); err != nil {
		return configuration
	}
	for _, job := range list(parsed, "scrape_configs") {
		for _, discovery := range list(job, "kubernetes_sd_configs") {
			discovery["kubeconfig_file"] = kubeconfig
		}
	}
	parsed["rule_files"] = []string{rules}
	return parsed
}

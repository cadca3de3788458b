package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// archive reads a report: the content of its files by name, without their folder.
func archive(t *testing.T, file string) map[string]string {
	t.Helper()
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	unzipped, err := gzip.NewReader(opened)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(content)
	}
}

// deployOperator creates the operator's Deployment, with a secret in its environment.
func (s *shop) deployOperator() {
	s.t.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "jmx-exporter-operator"}
	d := &appsv1.Deployment{ObjectMeta: s.named("jmx-exporter-operator")}
	d.Labels = labels
	d.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "hunter2"}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "manager", Image: "operator:dev", Args: []string{"--max-execs=7"}, Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "https://user:hunter2@proxy"}},
	}}
	create(s.t, d)
}

// A report has what a bug report needs, and no secret; with --redact-names, no name either.
func TestKubectlReport(t *testing.T) {
	t.Parallel()
	s := aShop(t, "reported")
	s.fill()
	s.deployOperator()
	secret := s.secretFor()
	secret.StringData = map[string]string{"password": "hunter2"}
	create(t, secret)
	s.configure("rules:\n- pattern: hunter2\n")
	change(t, s.payroll, func(e *v1alpha1.PrometheusJmxExporter) {
		metav1.SetMetaDataAnnotation(&e.ObjectMeta, v1alpha1.AnnotationRequester, "dev@example.com")
	})
	s.payroll.Status.ProblemPods[0].Log, s.payroll.Status.ProblemPods[0].PreviousLog = "password hunter2", "hunter2 again"
	s.status(s.payroll, s.payroll.Status)
	s.event(s.records["payroll-0"], "Normal", "Loaded", `Attached by exporter payroll of requester "dev@example.com".`, 1)
	k := aKubectl(t, "reporter", s.namespace, append(viewer(), allow("apps", "deployments", "get", "list"))...)
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	args := []string{"report", "-n", s.namespace, "--operator-namespace", s.namespace, "--file", file}
	stdout, stderr, err := k.run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	if stdout != file+"\n" || !strings.Contains(stderr, "records.yaml: the JmxAttachments: what happened in each pod") {
		t.Errorf("got %q, and on standard error\n%s", stdout, stderr)
	}
	files := archive(t, file)
	if diff := cmp.Diff([]string{"CONTENTS.txt", "configurations.txt", "events.yaml", "exporters.yaml", "operator.yaml", "records.yaml", "versions.txt"}, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"records.yaml": "AttachDisabled", "exporters.yaml": "PodsRefused", "events.yaml": "PortInUse", "operator.yaml": "--max-execs=7", "versions.txt": "API server: v",
		"configurations.txt": "reported/payroll: accepted", "CONTENTS.txt": "Not in it: Secrets",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %q:\n%s", name, want, files[name])
		}
	}
	for name, content := range files {
		for _, secret := range []string{"hunter2", "dev@example.com", "PRIVATE KEY"} {
			if strings.Contains(content, secret) {
				t.Errorf("%s has %q:\n%s", name, secret, content)
			}
		}
	}
	k.fails(args, "exists already")

	redacted := filepath.Join(t.TempDir(), "redacted.tar.gz")
	k.must("report", "-n", s.namespace, "--operator-namespace", s.namespace, "--redact-names", "--file", redacted)
	for name, content := range archive(t, redacted) {
		for _, original := range []string{s.namespace, "payroll", "ledger-0", "com.example", "node-1"} {
			if strings.Contains(name+content, original) {
				t.Errorf("%s has the name %q:\n%s", name, original, content)
			}
		}
		if name == "records.yaml" && !strings.Contains(content, "AttachDisabled") {
			t.Errorf("%s lost its reasons:\n%s", name, content)
		}
	}
}

// A report of a user who may read little has what the user may read, and says what is missing.
func TestKubectlReportOfLittle(t *testing.T) {
	t.Parallel()
	s := aShop(t, "little")
	k := aKubectl(t, "little", s.namespace, rbacv1.PolicyRule{APIGroups: []string{"banzaicloud.com"}, Resources: []string{"prometheusjmxexporters"}, Verbs: []string{"list"}})
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	_, stderr, err := k.run(t.Context(), "report", "-n", s.namespace, "--file", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Could not be read: JmxAttachments: ", "Could not be read: Events of a JmxAttachment: ", "Could not be read: the operator's Deployment (name its namespace with --operator-namespace): "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error has no %q:\n%s", want, stderr)
		}
	}
	if content := archive(t, file)["exporters.yaml"]; !strings.Contains(content, "payroll") {
		t.Errorf("exporters.yaml has no exporter:\n%s", content)
	}
	file = filepath.Join(t.TempDir(), "report.tar.gz")
	if got, want := k.must("report", "-n", s.namespace, "--file", file, "-o", "jsonpath={.file} {.files[0].name}"), file+" versions.txt"; got != want {
		t.Errorf("-o jsonpath: got %q, want %q", got, want)
	}
	k.fails([]string{"report", "-n", s.namespace, "--file", "-", "-o", "json"}, "--file -")
}

// withoutCRDs is the API server as it is without the CRDs, which all other tests need.
func withoutCRDs(t *testing.T) string {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(address)
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: func(r *http.Response) error {
			content, err := io.ReadAll(r.Body)
			content = bytes.ReplaceAll(content, []byte("banzaicloud.com"), []byte("not-installed.x")) // as long
			r.Body = io.NopCloser(bytes.NewReader(content))
			return err
		},
	})
	t.Cleanup(server.Close)
	return server.URL
}

// In a cluster without the operator's kinds, each command says that they are not installed.
func TestKubectlWithoutCRDs(t *testing.T) {
	t.Parallel()
	k := aKubectl(t, "lost", "default")
	for _, args := range [][]string{{"status"}, {"top"}, {"report"}, {"pause", "exporter"}, {"metrics", "app-0"}, {"preflight", "-l", "app=a"}} {
		k.fails(append(args, "--server", withoutCRDs(t)), "CRDs of the JMX exporter operator are not installed", "--context")
	}
}

// Names are completed as kubectl asks for it: by the command __complete.
func TestKubectlCompletes(t *testing.T) {
	t.Parallel()
	s := aShop(t, "completed")
	s.fill()
	k := aKubectl(t, "completer", s.namespace, viewer()...)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"status", ""}, "ledger payroll unprocessed"},
		{[]string{"pause", ""}, "ledger payroll unprocessed"},
		{[]string{"metrics", ""}, "ledger-0 payroll-0 payroll-1 payroll-2"},
		{[]string{"why", "pay"}, "ledger-0 payroll-0 payroll-1 payroll-2"},
		{[]string{"status", "-o", ""}, "json yaml name"},
		{[]string{"why", "-o", ""}, "json yaml"},
		{[]string{"status", "--context", ""}, "envtest"},
		{[]string{"why", "payroll-0", ""}, ""},
	} {
		stdout, _, err := k.run(t.Context(), append([]string{"__complete", "-n", s.namespace}, test.args...)...)
		if err != nil {
			t.Errorf("%v: %v", test.args, err)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if got := strings.Join(lines[:len(lines)-1], " "); got != test.want {
			t.Errorf("%v: got %q, want %q", test.args, got, test.want)
		}
	}
}

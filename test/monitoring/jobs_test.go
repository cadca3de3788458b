package monitoring

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A job is one of Prometheus' own configuration.
type job map[string]any

// credentials reports whether the job sends any.
func (j job) credentials() bool {
	tls, _ := j["tls_config"].(map[string]any)
	return tls["cert_file"] != nil || slices.ContainsFunc([]string{"basic_auth", "authorization", "oauth2", "bearer_token", "bearer_token_file"}, func(key string) bool { return j[key] != nil })
}

// problems returns why the job may send its credentials to somebody who only writes
// annotations, labels or EndpointSlices.
func (j job) problems() (problems []string) {
	if j["scheme"] != "https" {
		problems = append(problems, "scheme is not https, so they are sent in clear text")
	}
	tls, _ := j["tls_config"].(map[string]any)
	switch {
	case tls["insecure_skip_verify"] == true:
		problems = append(problems, "tls_config.insecure_skip_verify accepts anybody's certificate")
	case tls["ca_file"] == nil || tls["server_name"] == nil:
		problems = append(problems, "tls_config has no ca_file or no server_name")
	}
	if j["follow_redirects"] != false {
		problems = append(problems, "follow_redirects is not false, and a redirect gets them, too")
	}
	for _, relabeling := range list(j, "relabel_configs") {
		if relabeling["target_label"] == "__scheme__" {
			problems = append(problems, "a relabeling lets the target choose the scheme")
		}
	}
	for _, discovery := range list(j, "kubernetes_sd_configs") {
		if namespaces, _ := discovery["namespaces"].(map[string]any); namespaces["names"] == nil && namespaces["own_namespace"] != true {
			problems = append(problems, "kubernetes_sd_configs name no namespaces")
		}
	}
	return problems
}

// excused are jobs with credentials that need not verify a certificate.
var excused = map[string]string{
	"jmx-exporter-operator": "the operator's own metrics: its certificate is self-signed by default, and its targets are in its own namespace, where nobody else may create pods",
}

// Every job that is shipped or shown, and that sends credentials, sends them over verified
// TLS to namespaces that it names: whoever annotates a pod or labels a Service is a target.
func TestJobsWithCredentials(t *testing.T) {
	found := map[string]job{}
	for file, text := range texts(t) {
		for document := range strings.SplitSeq(text, "\n---\n") {
			var parsed any
			if yaml.Unmarshal([]byte(document), &parsed) == nil {
				collect(file, parsed, found)
			}
		}
	}
	secured := 0
	for _, name := range slices.Sorted(maps.Keys(found)) {
		j := found[name]
		if _, ok := excused[j["job_name"].(string)]; ok || !j.credentials() {
			continue
		}
		secured++
		for _, problem := range j.problems() {
			t.Errorf("%s sends credentials: %s", name, problem)
		}
	}
	if secured == 0 {
		t.Error("no job with credentials was found")
	}
}

// A job that is unsafe in each way is noticed.
func TestUnsafeJobs(t *testing.T) {
	const safe = `{"job_name": "x", "scheme": "https", "follow_redirects": false, "basic_auth": {}, "tls_config": {"ca_file": "f", "server_name": "n"},
		"kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": ["shop"]}}], "relabel_configs": [{"target_label": "namespace"}]}`
	for name, change := range map[string][2]string{
		"safe":                   {"", ""},
		"plain HTTP":             {`"https"`, `"http"`},
		"scheme of the target":   {`"target_label": "namespace"`, `"target_label": "__scheme__"`},
		"unverified certificate": {`"ca_file": "f"`, `"insecure_skip_verify": true`},
		"no authority":           {`"ca_file": "f"`, `"cert_file": "f"`},
		"redirects":              {`"follow_redirects": false, `, ``},
		"all namespaces":         {`"names"`, `"others"`},
	} {
		var j job
		parse(t, []byte(strings.Replace(safe, change[0], change[1], 1)), &j)
		if got := j.problems(); (len(got) == 0) != (name == "safe") || !j.credentials() {
			t.Errorf("%s: problems: got %q", name, got)
		}
	}
}

// docs/prometheus.md shows each file of config/prometheus/jobs as it is.
func TestDocumentedJobs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config/prometheus/jobs/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("config/prometheus/jobs: %q, %v", files, err)
	}
	page := read(t, "docs/prometheus.md")
	for _, file := range files {
		name, _ := filepath.Rel(root, file)
		if !strings.Contains(page, "```yaml\n"+read(t, name)+"```") {
			t.Errorf("docs/prometheus.md does not show %s as it is", name)
		}
	}
}

// texts returns the YAML that is shipped, shown or deployed by tests, by file.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, folder := range []string{"config", "docs", "examples", "hack/demo", "test/e2e"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			switch filepath.Ext(file) {
			case ".yaml":
				found[name] = read(t, name)
			case ".md":
				data, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				var blocks []string
				for _, m := range block.FindAllStringSubmatch(string(data), -1) {
					blocks = append(blocks, m[1])
				}
				found[name] = strings.Join(blocks, "\n---\n")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// ofMonitor returns what prometheus-operator makes of an endpoint of a monitor, or of a
// ScrapeConfig, as far as credentials are concerned.
func ofMonitor(name string, spec, endpoint map[string]any) job {
	j := job{"job_name": name, "follow_redirects": endpoint["followRedirects"]}
	if scheme, ok := endpoint["scheme"].(string); ok {
		j["scheme"] = strings.ToLower(scheme)
	}
	for key, of := range map[string]string{"basic_auth": "basicAuth", "authorization": "authorization", "oauth2": "oauth2", "bearer_token_file": "bearerTokenFile"} {
		j[key] = endpoint[of]
	}
	tls, _ := endpoint["tlsConfig"].(map[string]any)
	inJob := map[string]any{"server_name": tls["serverName"], "insecure_skip_verify": tls["insecureSkipVerify"], "cert_file": tls["cert"], "ca_file": tls["ca"]}
	for key, of := range map[string]string{"cert_file": "certFile", "ca_file": "caFile"} {
		if inJob[key] == nil {
			inJob[key] = tls[of]
		}
	}
	j["tls_config"] = inJob
	for _, relabeling := range list(endpoint, "relabelings") {
		relabelings, _ := j["relabel_configs"].([]any)
		j["relabel_configs"] = append(relabelings, map[string]any{"target_label": relabeling["targetLabel"]})
	}
	namespaces := map[string]any{"own_namespace": true}
	if selector, ok := spec["namespaceSelector"].(map[string]any); ok {
		namespaces = map[string]any{"names": selector["matchNames"]}
	}
	j["kubernetes_sd_configs"] = []any{map[string]any{"namespaces": namespaces}}
	return j
}

// collect adds the jobs and monitors in a document, also those in a text of it, such as a ConfigMap's.
func collect(file string, in any, found map[string]job) {
	switch in := in.(type) {
	case map[string]any:
		if name, ok := in["job_name"].(string); ok {
			found[file+": job "+name] = in
		}
		spec, _ := in["spec"].(map[string]any)
		metadata, _ := in["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		switch in["kind"] {
		case "ServiceMonitor", "PodMonitor":
			for _, endpoint := range slices.Concat(list(spec, "endpoints"), list(spec, "podMetricsEndpoints")) {
				found[file+": monitor "+name] = ofMonitor(name, spec, endpoint)
			}
		case "ScrapeConfig":
			found[file+": ScrapeConfig "+name] = ofMonitor(name, map[string]any{"namespaceSelector": map[string]any{}}, spec)
		}
		for _, value := range in {
			collect(file, value, found)
		}
	case []any:
		for _, value := range in {
			collect(file, value, found)
		}
	case string:
		var inner map[string]any
		if strings.Contains(in, "job_name") && yaml.Unmarshal([]byte(in), &inner) == nil {
			collect(file, inner, found)
		}
	}
}

func list(in map[string]any, key string) (all []map[string]any) {
	items, _ := in[key].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

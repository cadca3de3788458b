package applications

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A panel of a dashboard, as far as this test reads it.
type panel struct {
	Title, Type string
	Targets     []struct{ Expr string }
	Description string
}

// testDashboards evaluates every expression of the dashboard of a rule set, if there is
// one, in a Prometheus that scrapes an application with it.
func testDashboards(t *testing.T, rules, endpoint string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config/grafana/applications/jmx-"+rules+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var board struct{ Panels []panel }
	if err := errors.Join(err, json.Unmarshal(data, &board)); err != nil {
		t.Fatal(err)
	}
	query := prometheus(t, endpoint, "")
	fill := strings.NewReplacer("$__rate_interval", "1m", "$namespace", ".*", "$pod", ".*")
	for _, p := range board.Panels {
		mayBeEmpty := strings.Contains(p.Description, "Empty while ")
		for _, target := range p.Targets {
			var answer string
			if !soon(t, func() bool {
				var found int
				found, answer = query(fill.Replace(target.Expr))
				return found > 0 || mayBeEmpty && answer == ""
			}) {
				t.Errorf("%s: no series for %s %s", p.Title, target.Expr, answer)
			}
		}
	}
}

// prometheus runs a Prometheus that scrapes an endpoint as config/prometheus configures
// it and evaluates rules, and returns a function that returns the number of series of a
// query, or its error.
func prometheus(t *testing.T, endpoint, rules string) func(string) (int, string) {
	t.Helper()
	dir, server := t.TempDir(), address(t)
	configuration, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{write(t, dir, "rules.yaml", rules)},
		"scrape_configs": []any{map[string]any{"job_name": "jmx", "static_configs": []any{map[string]any{
			"targets": []string{endpoint}, "labels": map[string]string{"namespace": "shop", "pod": "shop-0", "exporter": "shop"},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	machine{t: t, dir: dir}.start(binaries(t, "prometheus")[0], "--config.file="+write(t, dir, "prometheus.yaml", string(configuration)), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+server)
	query := func(expr string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server+"/api/v1/query?query="+url.QueryEscape(expr), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		var answer struct {
			Error string
			Data  struct{ Result []any }
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return 0, err.Error()
		}
		return len(answer.Data.Result), answer.Error
	}
	if !soon(t, func() bool {
		found, _ := query(`rate(jmx_exporter_collection_duration_seconds{job="jmx"}[1m])`)
		return found > 0
	}) {
		t.Fatal("Prometheus does not scrape the application")
	}
	return query
}

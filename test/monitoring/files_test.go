package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// An alert is a rule of config/prometheus.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// alerts returns all alerts, and writes them to a file of Prometheus' own format.
func alerts(t *testing.T) (all []alert, file string) {
	t.Helper()
	var rule struct {
		Spec map[string]any `json:"spec"`
	}
	var groups struct {
		Groups []struct {
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	parse(t, []byte(read(t, "config/prometheus/rules.yaml")), &rule)
	file = write(t, "rules.yaml", rule.Spec)
	parse(t, []byte(read(t, "config/prometheus/rules.yaml")), &struct {
		Spec any `json:"spec"`
	}{&groups})
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("config/prometheus/rules.yaml has no alert")
	}
	return all, file
}

// promtool returns the path of Prometheus' own tool.
func promtool(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/binaries"), "promtool").Output()
	if err != nil {
		t.Fatalf("hack/binaries: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func run(t *testing.T, command string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(command), strings.Join(args, " "), err, out)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parse(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string, content any) string {
	t.Helper()
	data, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

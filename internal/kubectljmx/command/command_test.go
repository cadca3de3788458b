package command

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

// What each command prints can be read by a program, as of kubectl.
func TestEachCommandHasOutput(t *testing.T) {
	for _, c := range New(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{}).Commands() {
		if c.Flags().Lookup("output") == nil {
			t.Errorf("kubectl jmx %s has no -o", c.Name())
		}
	}
}

// A wrong argument is an error of its own, whatever the kubeconfig is.
func TestArgumentsAreJudgedBeforeTheKubeconfig(t *testing.T) {
	rows := map[string]struct{ args, want string }{
		"check without a file":               {"check", `required flag(s) "filename" not set`},
		"check of a file that is not there":  {"check -f nowhere.yaml", "nowhere.yaml"},
		"detach without a pod":               {"detach", "accepts 1 arg(s)"},
		"metrics with a broken filter":       {"metrics a --filter (", "--filter is not a regular expression"},
		"metrics with half a certificate":    {"metrics a --cert a", "[key]"},
		"metrics with no such certificate":   {"metrics a --cert nowhere.crt --key nowhere.key", "nowhere.crt"},
		"metrics with no such password":      {"metrics a --password-file nowhere.txt", "nowhere.txt"},
		"metrics with an empty password":     {"metrics a --password-file -", "the first line of --password-file is empty"},
		"pause without an exporter":          {"pause", "accepts 1 arg(s)"},
		"preflight of nothing":               {"preflight", "name an exporter in mode Preflight, or select pods"},
		"preflight of exporter and pods":     {"preflight a -l app=a", "name an exporter in mode Preflight, or select pods"},
		"preflight by comparison":            {"preflight -l app>1", "-l app>1: an exporter's selector has no operator gt"},
		"report to standard output, as JSON": {"report --file - -o json", "--file - writes the archive to standard output"},
		"resume of two exporters":            {"resume a b", "accepts 1 arg(s)"},
		"retry without a pod":                {"retry", "accepts 1 arg(s)"},
		"status of one exporter and of all":  {"status a -A", "-A shows the exporters of all namespaces"},
		"top of two pods":                    {"top a b", "accepts at most 1 arg(s)"},
		"top with no such certificate":       {"top --cert nowhere.crt --key nowhere.key", "nowhere.crt"},
		"why without a pod":                  {"why", "accepts 1 arg(s)"},
	}
	unformatted := map[string]string{"check": "check -f a", "preflight": "preflight a", "report": "report", "status": "status", "top": "top"}
	for _, c := range New(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{}).Commands() {
		args, ok := unformatted[c.Name()]
		if !ok {
			args = c.Name() + " a"
		}
		rows[c.Name()+" in no such format"] = struct{ args, want string }{args + " -o xml", `there is no output format "xml"`}
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			root := New(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{})
			root.SetArgs(append(strings.Fields(row.args), "--kubeconfig", filepath.Join(t.TempDir(), "none")))
			if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("kubectl jmx %s: %v, want %s", row.args, err, row.want)
			}
		})
	}
}

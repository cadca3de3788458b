package applications

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
)

const root = "../.."

// An application is a real one, and what its rule set makes of it.
type application struct {
	// rules is the name of the rule set, and of the release; the application's own if empty.
	rules string
	// start runs it, and what gives it work, until the test ends.
	start func(machine) *exec.Cmd
	// want is a series of each metric that the rule set makes, with some of its labels, and
	// "> 0" if the work has to show.
	want []string
	// atMost is how many series the rule set makes at most, in this situation.
	atMost int
}

// applications are those that config/rules has a file for.
var applications = map[string]application{
	"activemq":        activeMQ,
	"cassandra":       cassandra,
	"flink":           flink,
	"kafka":           kafka,
	"solr":            solr,
	"solr-alone":      solrAlone,
	"tomcat":          tomcat,
	"spring-boot":     springBoot,
	"zookeeper":       zooKeeper,
	"zookeeper-alone": zooKeeperAlone,
}

// A rule set makes the series that it promises of the real application, and no others.
// Nothing is missing from the scrape, promtool finds nothing to criticize, and every
// expression of the application's dashboard returns series.
func TestRuleSets(t *testing.T) {
	for name, application := range applications {
		t.Run(name, func(t *testing.T) {
			rules := cmp.Or(application.rules, name)
			command(t, "./build", rules)
			m := machine{t: t, name: rules, dir: t.TempDir()}
			endpoint := m.load(application.start(m), write(t, m.dir, "config.yaml", ruleSet(t, rules)))

			var found scrape
			var err error
			if !soon(t, func() bool {
				found, err = get(t.Context(), endpoint)
				return err == nil && len(found.missing(application.want)) == 0
			}) {
				t.Errorf("the last scrape: %v\nmissing: %q\nfound:\n%s", err, found.missing(application.want), strings.Join(found.series(), "\n"))
			}
			if others := found.others(application.want); len(others) > 0 {
				t.Errorf("metrics that the table does not have: %q", others)
			}
			if twice := found.collisions(); len(twice) > 0 {
				t.Errorf("rules whose names make one metric: %q", twice)
			}
			if n := len(found.series()); n > application.atMost {
				t.Errorf("%d series, want at most %d:\n%s", n, application.atMost, strings.Join(found.series(), "\n"))
			}
			t.Logf("%d series", len(found.series()))
			if failed := found.failed(); len(failed) > 0 {
				t.Errorf("the scrape is incomplete: %q", failed)
			}
			testDashboards(t, rules, endpoint)
			check := exec.CommandContext(t.Context(), binaries(t, "promtool")[0], "check", "metrics")
			check.Stdin = strings.NewReader(found.text)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("promtool check metrics: %v\n%s", err, out)
			}
		})
	}
}

// Each file is a ConfigMap with a configuration that the operator accepts without remark,
// and has an application that it was tried on.
func TestRuleSetsAreValid(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config/rules/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rule sets: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if name == "kustomization" {
			continue
		}
		if _, tried := applications[name]; !tried {
			t.Errorf("%s: no application", name)
		}
		if warnings, err := configuration.Validate([]byte(ruleSet(t, name))); err != nil || !reflect.ValueOf(warnings).IsZero() {
			t.Errorf("%s: %v %v", name, err, warnings)
		}
	}
}

// ruleSet returns the configuration in a file of config/rules.
func ruleSet(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config/rules", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var object corev1.ConfigMap
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatal(err)
	}
	if want := "jmx-rules-" + name; object.Name != want || len(object.Data) != 1 {
		t.Errorf("%s: the ConfigMap %s, want %s with one key", name, object.Name, want)
	}
	return object.Data["config.yaml"]
}

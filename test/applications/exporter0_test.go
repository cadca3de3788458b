package applications

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tables of docs/from-exporter-0.md have exactly the names that the last exporter 0.x
// serves and the exporter 1.x does not, and the new names are those of 1.x and of this
// agent. The recording rules there make all old names of the JVM that have a new one.
func TestNamesOfExporter0(t *testing.T) {
	command(t, filepath.Join(root, "test/apps/build"))
	command(t, "./build", "exporter-0")
	content, err := os.ReadFile(filepath.Join(root, "docs/from-exporter-0.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	ofJVM := rows(page, "^\\| `(\\w+)` \\| `?(\\w+)`? \\|$")
	table := maps.Clone(ofJVM)
	maps.Copy(table, rows(page, "^\\| `\\w+`, \\w+ \\| `(\\w+)` \\| `(\\w+)` \\|$"))

	m := machine{t: t, dir: t.TempDir()}
	configuration := write(t, m.dir, "config.yaml", rulesOf(page))
	released, err := filepath.Glob(filepath.Join(root, "bin/applications/exporter-0/*.jar"))
	if err != nil || len(released) != 1 {
		t.Fatalf("exporter 0.x: %v %v", released, err)
	}
	old := m.names(m.stock(released[0], configuration))
	stock := m.names(m.stock(strings.TrimSpace(command(t, filepath.Join(root, "agent/stock"))), configuration))
	endpoint := m.load(m.start(javaOf(m.t), "-Xmx64m", "-jar", dummyapp), configuration)
	ours := m.names(endpoint)

	gone := slices.DeleteFunc(old, func(name string) bool { return slices.Contains(stock, name) })
	if want := slices.Sorted(maps.Keys(table)); !cmp.Equal(want, gone) {
		t.Errorf("names of 0.x that 1.x does not have (-in the tables +served):\n%s", cmp.Diff(want, gone))
	}
	for _, now := range table {
		if now != "none" && (!slices.Contains(stock, now) || !slices.Contains(ours, now)) {
			t.Errorf("%s: served by 1.x: %v, by this agent: %v", now, slices.Contains(stock, now), slices.Contains(ours, now))
		}
	}

	rules := regexp.MustCompile("(?s)```yaml\n(groups:.*?)```").FindStringSubmatch(page)
	if rules == nil {
		t.Fatal("the page has no rules")
	}
	query := prometheus(t, endpoint, rules[1])
	for before, now := range ofJVM {
		if now != "none" && !soon(t, func() bool { found, _ := query(before); return found > 0 }) {
			t.Errorf("no series %s", before)
		}
	}
}

// rows returns the old and the new name in each row of a page that an expression matches.
func rows(page, expression string) map[string]string {
	found := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)"+expression).FindAllStringSubmatch(page, -1) {
		found[row[1]] = row[2]
	}
	return found
}

// rulesOf returns a configuration with the rules in the page's table, each for another
// attribute.
func rulesOf(page string) string {
	attributes := []string{"ThreadCount", "PeakThreadCount", "DaemonThreadCount", "TotalStartedThreadCount", "CurrentThreadCpuTime", "CurrentThreadUserTime"}
	var rules strings.Builder
	rules.WriteString("includeObjectNames: ['java.lang:type=Threading']\nrules:\n")
	for i, row := range regexp.MustCompile("(?m)^\\| `(\\w+)`, (\\w+) \\|").FindAllStringSubmatch(page, -1) {
		fmt.Fprintf(&rules, "- {pattern: 'java.lang<type=Threading><>%s:', name: %s, type: %s}\n", attributes[i], row[1], row[2])
	}
	return rules.String()
}

const dummyapp = root + "/bin/apps/dummyapp/dummyapp.jar"

// stock runs an application with a stock exporter, and returns the address of its endpoint.
func (m machine) stock(jar, configuration string) string {
	m.t.Helper()
	endpoint := address(m.t)
	m.start(javaOf(m.t), "-Xmx64m", "-javaagent:"+jar+"="+endpoint+":"+configuration, "-jar", dummyapp)
	return endpoint
}

// names returns the names of an endpoint's series, sorted.
func (m machine) names(endpoint string) (names []string) {
	m.t.Helper()
	m.request(endpoint+"/metrics", 200)
	found, err := get(m.t.Context(), endpoint)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, line := range found.samples(func(string) bool { return true }) {
		names = append(names, metric(line))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

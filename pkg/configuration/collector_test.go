package configuration

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCollector compares Validate with the collector, in the agent's version. Both accept
// and reject the same configurations, unless the table says otherwise.
func TestCollector(t *testing.T) {
	names, contents := []string{}, []string{}
	for name, tc := range configurations {
		names, contents = append(names, name), append(contents, tc.args)
	}
	for i, answer := range askCollector(t, contents) {
		tc := configurations[names[i]]
		if got := verdict(answer == "accepted"); got != tc.want.collector {
			t.Errorf("%s: %s\nParse: %v\ncollector: %s\nin %q", names[i], tc.reason, tc.want.err, answer, tc.args)
		}
	}
}

// askCollector returns the collector's answer to each configuration: "accepted" or its
// exception. It needs Maven, Java 11 or later, and the agent's POM, which sets the
// collector's version.
func askCollector(t *testing.T, contents []string) []string {
	t.Helper()
	for _, tool := range []string{"mvn", "java"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is missing; where CI is set that is a failure", tool)
		}
	}
	classpath := filepath.Join(t.TempDir(), "classpath")
	run(t, nil, "../../agent/mvn", "-q", "-f", "../../agent/collector/pom.xml", "dependency:build-classpath", "-Dmdep.outputFile="+classpath)
	jars, err := os.ReadFile(classpath)
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for _, content := range contents {
		in.WriteString(base64.StdEncoding.EncodeToString([]byte(content)) + "\n")
	}
	out := run(t, in.Bytes(), "java", "-cp", strings.TrimSpace(string(jars)), "testdata/Collector.java")
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(contents) {
		t.Fatalf("%d answers to %d configurations:\n%s", len(answers), len(contents), out)
	}
	return answers
}

func run(t *testing.T, in []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out.String(), errs.String())
	}
	return out.String()
}

package configuration

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestCollector asks the collector in the agent's own version. It accepts what
// Parse accepts, and refuses what Parse refuses unless the table says so.
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

// TestCollectorPatterns feeds both with patterns made of what matters in them.
func TestCollectorPatterns(t *testing.T) {
	pieces := strings.Fields(`a z - ^ $ . , | ( ) (?: (?= (?<! (?<a> (?<b> (?> (?i) (?i-s: (?x) [ [^ ] ] & && { } {2 {2} {2,} {2,3} {3,2} * + ? *+ +? \ \\ \Q \E \d \D \b \b{g} \B \k<a> \1 \p{L} \p \x41 \x{1F600} \u0041 \u \0 \07 \cA \N \R \v \h \y \- \] # = < >`)
	random := rand.New(rand.NewPCG(1, 2))
	patterns := make([]string, 20_000)
	contents := make([]string, len(patterns))
	for i := range patterns {
		for range 1 + random.IntN(8) {
			patterns[i] += pieces[random.IntN(len(pieces))]
		}
		contents[i] = "rules: [{pattern: '" + patterns[i] + "'}]"
	}
	var refused, missed int
	for i, answer := range askCollector(t, contents) {
		err := checkPattern(patterns[i])
		switch {
		case answer == "accepted" && err != nil:
			t.Errorf("%q: Java accepts it, checkPattern does not: %v", patterns[i], err)
		case answer != "accepted":
			refused++
			if err == nil {
				missed++
				if testing.Verbose() {
					t.Logf("%q: checkPattern accepts it, Java does not: %s", patterns[i], answer)
				}
			}
		}
	}
	// What is left to Java: the comments of (?x), lookbehinds without a bound.
	if missed*20 > refused {
		t.Errorf("checkPattern missed %d of %d broken patterns", missed, refused)
	}
}

// TestCollectorObjectNames does the same with the names of MBeans.
func TestCollectorObjectNames(t *testing.T) {
	pieces := []string{"a", "b", "java.lang", ":", ":", "=", "=", ",", "*", "?", `"`, `"`, `\\`, `\"`, `\n`, "\n", "type", "é"}
	random := rand.New(rand.NewPCG(3, 4))
	names := make([]string, 20_000)
	contents := make([]string, len(names))
	for i := range names {
		names[i] = []string{"", "d:", "d:a=", `d:a="`}[random.IntN(4)]
		for range random.IntN(8) {
			names[i] += pieces[random.IntN(len(pieces))]
		}
		contents[i] = "includeObjectNames: [" + strconv.Quote(names[i]) + "]"
	}
	for i, answer := range askCollector(t, contents) {
		if err := checkObjectName(names[i]); (err == nil) != (answer == "accepted") {
			t.Errorf("%q: checkObjectName: %v, Java: %s", names[i], err, answer)
		}
	}
}

// askCollector returns the collector's answer to each configuration, "accepted"
// or its exception. It takes Maven, Java 11 or newer, and the agent's POM,
// which names the collector's version.
func askCollector(t *testing.T, contents []string) []string {
	t.Helper()
	for _, tool := range []string{"mvn", "java"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is missing; where CI is set that is a failure", tool)
		}
	}
	classpath := filepath.Join(t.TempDir(), "classpath")
	run(t, nil, "mvn", "-q", "-B", "-f", "../../agent/exporter/pom.xml", "dependency:build-classpath", "-Dmdep.outputFile="+classpath)
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

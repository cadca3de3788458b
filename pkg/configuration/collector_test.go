package configuration

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCollector compares Validate with the collector, in the agent's version. Both accept
// and reject the same configurations, unless the table says otherwise.
func TestCollector(t *testing.T) {
	names, contents := inOrder()
	classpath := filepath.Join(t.TempDir(), "classpath")
	needsJava(t)
	run(t, nil, "../../agent/mvn", "-q", "-f", "../../agent/collector/pom.xml", "dependency:build-classpath", "-Dmdep.outputFile="+classpath)
	jars, err := os.ReadFile(classpath)
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range ask(t, contents, "-cp", strings.TrimSpace(string(jars)), "testdata/Collector.java") {
		tc := configurations[names[i]]
		if got := verdict(answer == "accepted"); got != tc.want.collector {
			t.Errorf("%s: %s\nValidate: %v\ncollector: %s\nin %q", names[i], tc.reason, tc.want.err, answer, tc.args)
		}
	}
}

// TestAgent compares Validate with the agent, which accepts whatever Validate does, except
// for what only a JVM can judge, and refuses what must not reach an application.
func TestAgent(t *testing.T) {
	names, contents := inOrder()
	needsJava(t)
	run(t, nil, "../../agent/build")
	for i, answer := range ask(t, contents, "-cp", "../../bin/agent/exporter.jar", "testdata/Agent.java", filepath.Join(t.TempDir(), "config.yaml")) {
		tc := configurations[names[i]]
		got := verdict(answer == "accepted")
		switch err := tc.want.err; {
		case err == nil:
			if want := verdict(!tc.want.rejected); got != want {
				t.Errorf("%s: %s\nValidate accepts it, the agent: %s\nin %q", names[i], tc.reason, answer, tc.args)
			}
		case (err.Reason == ConfigForbidden || err.Reason == ConfigTooLarge) && got == accepts:
			t.Errorf("%s: %s\nValidate: %v\nthe agent accepts it\nin %.200q", names[i], tc.reason, err, tc.args)
		}
	}
}

func TestObjectNames(t *testing.T) {
	needsJava(t)
	names := objectNames()
	failures := 0
	for i, answer := range ask(t, names, "testdata/ObjectNames.java") {
		if problem := objectNameProblem(names[i]); (problem == "") != (answer == "accepted") {
			if failures++; failures <= 10 {
				t.Errorf("%q: got %q, Java says %q", names[i], problem, answer)
			}
		}
	}
}

// objectNames returns names as people write them, and all short strings of the characters
// that mean something in a name, also as its properties and as a value.
func objectNames() []string {
	names := []string{
		"java.lang:type=Memory", "java.lang:*", "*:*", "*", "*:", ":type=x", "d", "d:", "d:a", "d:a=", "d:=a", "d:a=b,a=c", "d:a=b,",
		"kafka.server:type=*,name=*,*", "kafka.server:*,type=x", "d=e:a=b", "d?*:a=b?", "d:a=b:c", "d:a=b=c", "d:a=\"b:c\"", "d:a=\"b\"c", "d:a=\"b\"cd=e",
		`d:a="b\n"`, `d:a="\x"`, `d:a="`, `d:a="\`, "d:a=b\nc", "d\n:a=b", "d:a\nb=c", "dömain:a=b", "d:a=*,*,b=c", "d:*,*", " : = ", "d: a=b, a=c", "//:a=b",
	}
	const meaningful, longest = `a:=,*?"\` + "\n", 5
	all := []string{""}
	for last := all; len(last[0]) < longest; {
		var longer []string
		for _, name := range last {
			for _, c := range meaningful {
				longer = append(longer, name+string(c))
			}
		}
		last = longer
		all = append(all, last...)
	}
	for _, name := range all {
		names = append(names, name, "d:"+name, "d:a="+name)
	}
	return names
}

// inOrder returns the names and contents of the table.
func inOrder() (names, contents []string) {
	for _, name := range slices.Sorted(maps.Keys(configurations)) {
		names, contents = append(names, name), append(contents, configurations[name].args)
	}
	return names, contents
}

// needsJava needs Maven and Java 11 or later.
func needsJava(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"mvn", "java"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is missing; where CI is set that is a failure", tool)
		}
	}
}

// ask returns the answer of a Java program to each text: "accepted" or why not.
func ask(t *testing.T, texts []string, args ...string) []string {
	t.Helper()
	var in bytes.Buffer
	for _, text := range texts {
		in.WriteString(base64.StdEncoding.EncodeToString([]byte(text)) + "\n")
	}
	out := run(t, in.Bytes(), "java", args...)
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(texts) {
		t.Fatalf("%d answers to %d texts:\n%.1000s", len(answers), len(texts), out)
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

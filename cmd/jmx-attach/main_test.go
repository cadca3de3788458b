//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// asHelper makes this binary the helper.
const asHelper = "JMX_ATTACH_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(asHelper) != "" {
		main()
	}
	jvmtest.Main(m)
}

func helper(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), asHelper+"=1")
	return cmd
}

// result is what a helper left.
type result struct {
	code           int
	stdout, stderr string
}

func call(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := helper(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if !cmd.ProcessState.Exited() {
		t.Fatalf("%v: %s", args, cmd.ProcessState)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (r result) report(t *testing.T) attach.Report {
	t.Helper()
	var report attach.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, r.stdout, r.stderr)
	}
	if (r.code == 1) != (report.Error != nil) || r.code > 1 {
		t.Errorf("exit code %d with error %v", r.code, report.Error)
	}
	return report
}

func request(t *testing.T, req attach.Request) string {
	t.Helper()
	line, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		code int
		says string // on standard output if code is 0, else on standard error
	}{
		"help":             {"--help", 0, "jmx-attach load --pid 4711"},
		"help of a verb":   {"load -h", 0, "jmx-attach load --pid 4711"},
		"version":          {"--version", 0, "devel"},
		"nothing":          {"", 2, "jmx-attach inspect"},
		"unknown command":  {"conquer", 2, `no command "conquer"`},
		"unknown option":   {"inspect --all", 2, "-all"},
		"not of this verb": {"inspect --pid 1", 2, "-pid"},
		"too much":         {"inspect this", 2, `"this" is too much`},
		"output":           {"inspect -o yaml", 2, "json or table"},
		"no pid":           {"load --port 1 --config x", 2, "--pid is missing"},
		"no port":          {"probe", 2, "--port is missing"},
		"no config":        {"load --pid 1 --port 1", 2, "--config is missing"},
		"stage":            {"stage", 2, "--request"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", strings.Fields(test.args)...)
			said := r.stdout
			if test.code != 0 {
				said = r.stderr
			}
			if r.code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("got %+v, want %d and %q", r, test.code, test.says)
			}
		})
	}
}

// What a person does, step by step.
func TestPeople(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(root, "agent/build")).CombinedOutput(); err != nil {
		t.Fatalf("agent/build: %v\n%s", err, out)
	}
	config := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(config, []byte("rules: [{pattern: \".*\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid, port := fmt.Sprint(app.PID), fmt.Sprint(jvmtest.FreePort(t))
	load := []string{
		"load", "--pid", pid, "--port", port, "--config", config,
		"--agent", filepath.Join(root, "bin/agent/agent.jar"), "--exporter", filepath.Join(root, "bin/agent/exporter.jar"),
	}
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"inspect"}, 0, "App"},
		{[]string{"load", "--pid", pid, "--port", port, "--config", "/nowhere"}, 1, ""}, // the jars are not beside this binary
		{load, 0, "running"},
		{load, 0, "running"},
		{slices.Concat(load[:3], load[5:]), 0, port}, // without --port, it keeps the one it has
		{[]string{"status", "--pid", pid}, 0, port},
		{[]string{"probe", "--port", port}, 0, "answers"},
		{[]string{"probe", "--port", port, "--path", "/nothing"}, 1, ""},
		{[]string{"inspect", "-o", "json"}, 0, `"state":"running"`},
		{[]string{"unload", "--pid", pid}, 0, "stopped"},
		{[]string{"probe", "--port", port}, 1, ""},
		{[]string{"status", "--pid", "4000000"}, 1, ""},
	} {
		r := call(t, "", step.args...)
		if r.code != step.code || !strings.Contains(r.stdout, step.says) || (step.code != 0) != (r.stderr != "") {
			t.Errorf("%v: got %+v, want %d and %q", step.args, r, step.code, step.says)
		}
	}
	app.Unharmed()
}

func TestRequest(t *testing.T) {
	for name, test := range map[string]struct {
		verb, stdin string
		reason      attach.Reason
	}{
		"inspect":         {"inspect", "{}\n", ""},
		"closed stdin":    {"inspect", "", attach.ReasonBadRequest},
		"not JSON":        {"inspect", "hello\n", attach.ReasonBadRequest},
		"endless line":    {"inspect", strings.Repeat("x", 1<<20), attach.ReasonBadRequest},
		"wrong pod":       {"stage", `{"podUID":"00000000-0000-4000-8000-000000000000"}` + "\n", attach.ReasonWrongPod},
		"stage, cut":      {"stage", request(t, attach.Request{Files: []attach.File{attach.NewFile("agent-", []byte("all of it"), ".jar")}}) + "all", attach.ReasonStagingIncomplete},
		"stage":           {"stage", request(t, attach.Request{Files: []attach.File{attach.NewFile("agent-", []byte("all of it"), ".jar")}}) + "all of it", ""},
		"load of nothing": {"load", "{}\n", attach.ReasonBadRequest},
		"gone":            {"status", `{"target":{"pid":4000000,"startTime":1}}` + "\n", attach.ReasonProcessGone},
		"probe":           {"probe", `{"probe":{"port":1,"path":"/"}}` + "\n", attach.ReasonEndpointNotServing},
	} {
		t.Run(name, func(t *testing.T) {
			report := call(t, test.stdin, test.verb, "--request").report(t)
			got := attach.Reason("")
			if report.Error != nil {
				got = report.Error.Reason
			}
			if got != test.reason || report.HelperVersion == "" {
				t.Errorf("got %+v %v, want %q", report, report.Error, test.reason)
			}
		})
	}
}

// A helper whose caller is gone does what it was asked to, and ends.
func TestNobodyListens(t *testing.T) {
	content := []byte("staged all the same")
	file := attach.NewFile("config-", content, ".yaml")
	cmd := helper("stage", "--request")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd.Stdin, cmd.Stdout = strings.NewReader(request(t, attach.Request{Files: []attach.File{file}})+string(content)), write
	if err := cmd.Run(); err == nil || !cmd.ProcessState.Exited() {
		t.Errorf("ended with %v, want an exit code", err)
	}
	write.Close()
	if got, err := os.ReadFile(filepath.Join(attach.Home, file.Name)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("staged %q, %v", got, err)
	}
}

// A helper that is killed while it stages leaves nothing under a final name, and
// what it leaves is removed by a later one.
func TestKilledWhileStaging(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1<<20)
	file := attach.NewFile("agent-", content, ".jar")
	req := request(t, attach.Request{Files: []attach.File{file}})
	p := jvmtest.Run(t, helper("stage", "--request"))
	p.Write(req + string(content[:1<<19]))
	partial := func() []string {
		names, _ := filepath.Glob(filepath.Join(attach.Home, ".agent-*.tmp"))
		return names
	}
	p.Await("half of it is written", func() bool { return len(partial()) == 1 })
	p.Stop()
	if _, err := os.Stat(filepath.Join(attach.Home, file.Name)); err == nil {
		t.Error("half a file has its final name")
	}
	for _, name := range partial() {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if report := call(t, req+string(content), "stage", "--request").report(t); report.Error != nil {
		t.Fatal(report.Error)
	}
	if left := partial(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Two helpers for one JVM at the same time load one agent.
func TestTwoHelpers(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var files []attach.File
	var blobs strings.Builder
	for _, f := range []struct{ prefix, name, suffix string }{
		{"agent-", "bin/agent/agent.jar", ".jar"}, {"exporter-", "bin/agent/exporter.jar", ".jar"}, {"config-", "go.mod", ".yaml"},
	} {
		data, err := os.ReadFile(filepath.Join(root, f.name))
		if err != nil {
			t.Fatal(err)
		}
		if f.prefix == "config-" {
			data = []byte("rules: [{pattern: \".*\"}]\n")
		}
		files = append(files, attach.NewFile(f.prefix, data, f.suffix))
		blobs.Write(data)
	}
	start, err := jvm.StartTime(app.PID)
	if err != nil {
		t.Fatal(err)
	}
	target := &attach.Target{PID: app.PID, StartTime: start}
	if report := call(t, request(t, attach.Request{Files: files})+blobs.String(), "stage", "--request").report(t); report.Error != nil {
		t.Fatal(report.Error)
	}
	var port int32
	if _, err := fmt.Sscan(fmt.Sprint(jvmtest.FreePort(t)), &port); err != nil {
		t.Fatal(err)
	}
	line := request(t, attach.Request{Target: target, Desired: &attach.Desired{
		Agent: files[0].Name, Implementation: files[1].Name, ImplementationSHA256: files[1].SHA256,
		Config: files[2].Name, ConfigSHA256: files[2].SHA256, Port: port,
	}})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			report := call(t, line, "load", "--request").report(t)
			if report.Error != nil && report.Error.Reason != attach.ReasonBusy {
				t.Errorf("%s: %s", report.Error.Reason, report.Error.Message)
			}
		})
	}
	wg.Wait()
	report := call(t, request(t, attach.Request{Target: target}), "status", "--request").report(t)
	if m := report.Processes[0].Mark; m == nil || m.Loads != 1 || m.State != attach.AgentRunning {
		t.Errorf("mark is %+v, %v", m, report.Error)
	}
	app.Unharmed()
}

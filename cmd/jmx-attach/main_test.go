//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// anyMBean is a configuration that serves all MBeans.
const anyMBean = "rules: [{pattern: \".*\"}]\n"

// Environment variables that turn this binary into the helper.
const (
	asHelper = "JMX_ATTACH_TEST_HELPER"
	// idleFor sets its idleLifetime.
	idleFor = "JMX_ATTACH_TEST_IDLE"
	// graceFor sets its childGrace.
	graceFor = "JMX_ATTACH_TEST_GRACE"
	// unreadFor sets its unreadLifetime, and checkFor its checkLifetime.
	unreadFor = "JMX_ATTACH_TEST_UNREAD"
	checkFor  = "JMX_ATTACH_TEST_CHECK"
	// hangsIn is the ID of a container whose check hangs.
	hangsIn = "JMX_ATTACH_TEST_HANGS"
)

// configure sets the variables for tests of a helper.
func configure() {
	for name, variable := range map[string]*time.Duration{idleFor: &idleLifetime, graceFor: &childGrace, unreadFor: &unreadLifetime, checkFor: &checkLifetime} {
		if d, err := time.ParseDuration(os.Getenv(name)); err == nil {
			*variable = d
		}
	}
	if id := os.Getenv(hangsIn); id != "" {
		check = func(agent helper.NodeAgent, target helperapi.NodeTarget) error {
			if target.ContainerID == id {
				select {}
			}
			return agent.Check(target)
		}
	}
}

func TestMain(m *testing.M) {
	jvm.StartTimeout = 0 // the tests' applications report when they are up
	if os.Getenv(asHelper) != "" {
		configure()
		main()
	}
	if argument := os.Getenv(asAttacker); argument != "" {
		attack(argument)
	}
	jvmtest.Main(m)
}

func helperCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), asHelper+"=1")
	return cmd
}

// result is the outcome of a helper process.
type result struct {
	code           int
	stdout, stderr string
}

func call(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := helperCommand(args...)
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

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		code int
		says string // on standard output if code is 0, otherwise on standard error
	}{
		"help":             {"--help", 0, "jmx-attach load --pid 4711"},
		"help of a verb":   {"load -h", 0, "jmx-attach load --pid 4711"},
		"version":          {"--version", 0, "devel"},
		"nothing":          {"", 2, "jmx-attach inspect"},
		"unknown command":  {"conquer", 2, `no command "conquer"`},
		"unknown option":   {"inspect --all", 2, "-all"},
		"not of this verb": {"inspect --pid 1", 2, "-pid"},
		"load's alone":     {"inspect --allow-shared-tmp", 2, "-allow-shared-tmp"},
		"too much":         {"inspect this", 2, `"this" is too much`},
		"output":           {"inspect -o yaml", 2, "json or table"},
		"no pid":           {"load --port 1 --config x", 2, "--pid is missing"},
		"no port":          {"probe", 2, "--port is missing"},
		"no candidate":     {"check --pid 1", 2, "--config is missing"},
		"no config":        {"load --pid 1 --port 1", 2, "--config is missing"},
		"help of node":     {"node --help", 0, "--allow-privileged"},
		"node's flags":     {"node --allow-everything", 2, "allow-everything"},
		"stage":            {"stage", 2, "load stages what it needs"},
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

// agentJars returns the agent's two jars, and builds them first if they are missing.
func agentJars(t *testing.T) (agent, exporter string) {
	t.Helper()
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(root, "agent/build")).CombinedOutput(); err != nil {
		t.Fatalf("agent/build: %v\n%s", err, out)
	}
	return filepath.Join(root, "bin/agent/agent.jar"), filepath.Join(root, "bin/agent/exporter.jar")
}

// stillStarting matches the progress of a load on a busy machine.
var stillStarting = regexp.MustCompile(`(?m)^.* still starting .*\n`)

// The steps of a person at the command line.
func TestPeople(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	agent, exporter := agentJars(t)
	config := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(config, []byte(anyMBean), 0o600); err != nil {
		t.Fatal(err)
	}
	rejected := filepath.Join(t.TempDir(), "rejected.yaml")
	if err := os.WriteFile(rejected, []byte("rules: [{pattern: '('}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid, port := fmt.Sprint(app.PID), fmt.Sprint(jvmtest.FreePort(t))
	load := []string{
		"load", "--pid", pid, "--port", port, "--config", config,
		"--agent", agent, "--exporter", exporter,
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
		{slices.Concat(load[:3], load[5:]), 0, port}, // without --port, the agent keeps its port
		{[]string{"check", "--pid", pid, "--config", config}, 0, "The configuration is accepted."},
		{[]string{"check", "--pid", pid, "--config", rejected}, 1, "not accepted: ConfigRejected"},
		{[]string{"check", "--pid", pid, "--config", rejected, "-o", "json"}, 1, `"judgement":{"reason":"ConfigRejected"`},
		{[]string{"status", "--pid", pid}, 0, port},
		{[]string{"probe", "--port", port}, 0, "answers"},
		{[]string{"probe", "--port", port, "--path", "/nothing"}, 1, ""},
		{[]string{"inspect", "-o", "json"}, 0, `"state":"running"`},
		{[]string{"unload", "--pid", pid}, 0, "stopped"},
		{[]string{"probe", "--port", port}, 1, ""},
		{[]string{"status", "--pid", "4000000"}, 1, ""},
	} {
		r := call(t, "", step.args...)
		for end := time.Now().Add(time.Minute); strings.Contains(r.stdout, "TrialIncomplete") && time.Now().Before(end); { // a busy machine
			r = call(t, "", step.args...)
		}
		r.stderr = stillStarting.ReplaceAllString(r.stderr, "")
		if r.code != step.code || !strings.Contains(r.stdout, step.says) || (step.code != 0 && step.args[0] != "check") != (r.stderr != "") {
			t.Errorf("%v: got %+v, want %d and %q", step.args, r, step.code, step.says)
		}
	}
	app.Unharmed()
}

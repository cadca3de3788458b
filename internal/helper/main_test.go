//go:build linux

package helper

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == TrialCommand {
		os.Exit(Trial(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == checkCommand {
		os.Exit(checkAsCommand(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == nodeCommand {
		os.Exit(actOnNode(os.Args[2]))
	}
	jvm.StartTimeout = 0 // the tests' applications report when they are up
	jvmtest.Main(m)
}

const (
	nobody = 65534
	// anyMBean serves all MBeans; otherConfig does too, with another digest.
	anyMBean    = "rules:\n- pattern: \".*\"\n"
	otherConfig = "lowercaseOutputName: true\n" + anyMBean
)

// agentJars returns the agent's two jars, and builds them first if they are missing.
var agentJars = sync.OnceValues(func() ([2][]byte, error) {
	var jars [2][]byte
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		return jars, err
	}
	for i, name := range []string{"agent.jar", "exporter.jar"} {
		path := filepath.Join(root, "bin/agent", name)
		if _, err := os.Stat(path); err != nil {
			if out, err := exec.Command(filepath.Join(root, "agent/build")).CombinedOutput(); err != nil {
				return jars, fmt.Errorf("agent/build: %w\n%s", err, out)
			}
		}
		if jars[i], err = os.ReadFile(path); err != nil {
			return jars, err
		}
	}
	return jars, nil
})

func do(t *testing.T, verb helperapi.Verb, req helperapi.Request, blobs ...[]byte) helperapi.Report {
	t.Helper()
	ask := func() helperapi.Report {
		return Helper{Version: "test"}.Do(t.Context(), verb, req, bytes.NewReader(bytes.Join(blobs, nil)))
	}
	report := ask()
	// On a busy machine, an agent may take longer than a helper waits; the load is
	// retried, as the operator does.
	for end := time.Now().Add(time.Minute); starting(report) && time.Now().Before(end); {
		report = ask()
	}
	return report
}

func starting(report helperapi.Report) bool {
	return report.Error != nil && report.Error.Reason == helperapi.ReasonAgentNotAnswering && strings.HasPrefix(report.Error.Message, "The agent is starting ")
}

func wantReason(t *testing.T, report helperapi.Report, reason helperapi.Reason) {
	t.Helper()
	switch {
	case report.Error == nil && reason != "":
		t.Fatalf("no error, want %s", reason)
	case report.Error != nil && report.Error.Reason != reason:
		t.Fatalf("error is %s: %s, want %q", report.Error.Reason, report.Error.Message, reason)
	}
}

// cleanDirectory gives a test its own agent directory.
func cleanDirectory(t *testing.T) {
	t.Helper()
	remove := func() {
		if err := os.RemoveAll(helperapi.AgentDirectory); err != nil {
			t.Error(err)
		}
	}
	remove()
	t.Cleanup(remove)
}

// stageAgent stages the agent with a configuration.
func stageAgent(t *testing.T, target *helperapi.Target, config string, port int32, with ...func(*helperapi.Request)) *helperapi.Desired {
	t.Helper()
	jars, err := agentJars()
	if err != nil {
		t.Fatal(err)
	}
	agent, exporter, rules := helperapi.NewFile("agent-", jars[0], ".jar"), helperapi.NewFile("exporter-", jars[1], ".jar"), helperapi.NewFile("config-", []byte(config), ".yaml")
	req := helperapi.Request{Target: target, Files: []helperapi.File{agent, exporter, rules}}
	for _, change := range with {
		change(&req)
	}
	wantReason(t, do(t, helperapi.VerbStage, req, jars[0], jars[1], []byte(config)), "")
	return &helperapi.Desired{
		Agent: agent.Name, AgentSHA256: agent.SHA256,
		Implementation: exporter.Name, ImplementationSHA256: exporter.SHA256,
		Config: rules.Name, ConfigSHA256: rules.SHA256,
		Port: port,
	}
}

func targetOf(t *testing.T, p *jvmtest.Process) *helperapi.Target {
	t.Helper()
	start, err := jvm.StartTime(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	return &helperapi.Target{PID: p.PID, StartTime: start}
}

// processOf returns the target JVM.
func processOf(t *testing.T, target *helperapi.Target) jvm.Process {
	t.Helper()
	p, err := lookup(helperapi.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// staged stages the agent for a JVM, and returns the request to load it there, on a free
// port.
func staged(t *testing.T, app *jvmtest.Process) helperapi.Request {
	t.Helper()
	return helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
}

// set changes a variable until the test ends.
func set[T any](t *testing.T, variable *T, value T) {
	before := *variable
	t.Cleanup(func() { *variable = before })
	*variable = value
}

// mount mounts something until the test ends.
func mount(t *testing.T, source, target, fstype string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount(source, target, fstype, flags, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(target, 0); err != nil {
			t.Error(err)
		}
	})
}

// wantMark returns the mark of the only process in a report.
func wantMark(t *testing.T, report helperapi.Report, state helperapi.AgentState, loads int) helperapi.Mark {
	t.Helper()
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		t.Fatalf("no mark in %+v, error %v", report, report.Error)
	}
	mark := *report.Processes[0].Mark
	if mark.State != state || mark.Loads != loads {
		t.Fatalf("mark is %+v, want %s after %d loads", mark, state, loads)
	}
	return mark
}

// listen listens on a free port.
func listen(t *testing.T) (*net.TCPListener, int32) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener), int32(l.Addr().(*net.TCPAddr).Port)
}

// scrape returns the metrics of a port; empty if it does not answer.
func scrape(port int32) string { return jvmtest.Scrape(context.Background(), port) }

// identity returns the identity in the health response of a port; empty if there is none.
func identity(port int32) string {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/-/healthy", port))
	if err != nil {
		return ""
	}
	response.Body.Close()
	return response.Header.Get(helperapi.IdentityHeader)
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

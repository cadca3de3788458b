//go:build linux

package helper

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// An application that replaces its system properties temporarily removes the mark; its
// agent is reconfigured, not loaded again.
func TestMarkLost(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	req := staged(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	for range 3 {
		app.Tell("forget")
		report := do(t, helperapi.VerbLoad, req)
		wantReason(t, report, "")
		if !report.Processes[0].AgentJarOpen || scrape(req.Desired.Port) == "" {
			t.Errorf("got %+v", report.Processes[0])
		}
	}
	app.Tell("forget")
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
	app.Tell("ping")
}

// A JVM that inherited all system properties of its parent (Ant's clonevm) has the
// parent's mark, but no agent.
func TestInheritedMark(t *testing.T) {
	for _, state := range []helperapi.AgentState{helperapi.AgentRunning, helperapi.AgentStopped, helperapi.AgentStarting, helperapi.AgentFailed} {
		t.Run(string(state), func(t *testing.T) {
			cleanDirectory(t)
			desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
			mark := pairs{
				"protocol": {"1"}, "state": {string(state)}, "loads": {"7"}, "token": {"of-the-parent"}, "port": {strconv.Itoa(int(desired.Port))},
				"config.sha256": {desired.ConfigSHA256}, "implementation.sha256": {desired.ImplementationSHA256},
			}
			o := silentLoad
			o.Args = append(slices.Clone(o.Args), "-D"+markProperty+"="+mark.Encode())
			app := jvmtest.Need(t, 17).Start(t, o)
			target := targetOf(t, app)
			p := processOf(t, target)
			if err := p.Attach(t.Context()); err != nil {
				t.Fatal(err)
			}
			if told, err := readMark(t.Context(), p); err != nil || told == nil || told.Loads != 7 {
				t.Fatalf("the JVM has the mark %+v, %v", told, err)
			}
			for _, verb := range []helperapi.Verb{helperapi.VerbInspect, helperapi.VerbStatus, helperapi.VerbUnload} {
				report := do(t, verb, helperapi.Request{Target: target})
				wantReason(t, report, "")
				if process := report.Processes[0]; process.Mark != nil || process.AgentJarOpen {
					t.Errorf("%s finds %+v", verb, process)
				}
			}
			stageAgent(t, nil, anyMBean, desired.Port)
			report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
			wantReason(t, report, "")
			wantMark(t, report, helperapi.AgentRunning, 1)
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
			app.Unharmed()
		})
	}
}

// An open jar of ours without a mark is an agent that does not answer. It is never loaded
// again, no matter what serves its port: a live agent restores its mark.
func TestSilentAgent(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	req := staged(t, app)
	jar, err := os.ReadFile(jvmtest.AgentJar(t)) // sets a different property
	if err != nil {
		t.Fatal(err)
	}
	silent := helperapi.NewFile("agent-", jar, ".jar")
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{silent}}, jar), "")
	req.Desired.Agent, req.Desired.AgentSHA256 = silent.Name, silent.SHA256
	for range 2 {
		report := do(t, helperapi.VerbLoad, req)
		wantReason(t, report, helperapi.ReasonAgentNotAnswering)
		if !report.Processes[0].AgentJarOpen {
			t.Error("the agent's jar is not open")
		}
	}
	wantReason(t, do(t, helperapi.VerbStatus, helperapi.Request{Target: req.Target}), helperapi.ReasonAgentNotAnswering)

	listener, port := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = server.Serve(listener) }() // returns at Close
	defer server.Close()
	req.Desired.Port = port
	wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonAgentNotAnswering)

	p := processOf(t, req.Target)
	if value, _, err := p.Property(t.Context(), "jvmtest.agent"); err != nil || !strings.HasPrefix(value, "loads=1 ") {
		t.Errorf("the agent says %q, %v, want one load", value, err)
	}
	app.Unharmed()

	// A process that cannot be read is an error, not a process without an agent.
	app.Stop()
	for _, p := range []jvm.Process{p, {PID: os.Getpid(), StartTime: p.StartTime}} {
		if open, err := trampolines(p); err == nil || typed(err).Reason != helperapi.ReasonProcessGone {
			t.Errorf("of a process that is gone: jar open %v, error %v", open, err)
		}
	}
}

// /tmp may be a link, or a mount that has another path outside the container.
func TestIsAgentJar(t *testing.T) {
	for name, want := range map[string]bool{
		helperapi.AgentDirectory + "/agent-0123456789ab.jar":    true,
		"/var/volatile/tmp/.jmx-exporter/agent-012345ab.jar":    true,
		helperapi.AgentDirectory + "/exporter-0123456789ab.jar": false,
		helperapi.AgentDirectory + "/agent-0123456789ab.jar/x":  false,
		"/opt/agent-0123456789ab.jar":                           false,
		"socket:[4711]":                                         false,
	} {
		if got := isAgentJar(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

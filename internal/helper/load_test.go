//go:build linux

package helper

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// silentLoad keeps JDK 21 and later from printing their warning.
var silentLoad = jvmtest.Options{Args: []string{"-XX:+EnableDynamicAgentLoading"}}

// The agent's whole life in one JVM.
func TestLife(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app := jdk.Start(t, silentLoad)
		target := targetOf(t, app)
		port := jvmtest.FreePort(t)

		report := do(t, helperapi.VerbInspect, helperapi.Request{})
		if len(report.Processes) != 1 || report.Processes[0].Refusal != nil || report.Processes[0].Mark != nil || report.Processes[0].AgentJarOpen {
			t.Fatalf("before: %+v", report.Processes)
		}
		if _, err := os.Lstat(helperapi.AgentDirectory); err == nil {
			t.Error("inspect made the agent directory")
		}

		desired := stageAgent(t, nil, anyMBean, port)
		desired.Identity = "00c0ffee"
		first := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, first, "")
		mark := wantMark(t, first, helperapi.AgentRunning, 1)
		if !strings.Contains(scrape(port), "jvm_") {
			t.Error("no metrics")
		}
		if who := identity(port); who != desired.Identity {
			t.Errorf("who answers for its health is %q", who)
		}

		again := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, again, "")
		if diff := cmp.Diff(mark, wantMark(t, again, helperapi.AgentRunning, 1)); diff != "" {
			t.Errorf("a load of what runs changed something (-first +again):\n%s", diff)
		}

		reconfigured := stageAgent(t, nil, otherConfig, port)
		report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: reconfigured})
		wantReason(t, report, "")
		if got := wantMark(t, report, helperapi.AgentRunning, 1).ConfigSHA256; got != reconfigured.ConfigSHA256 {
			t.Errorf("serves configuration %s, want %s", got, reconfigured.ConfigSHA256)
		}
		if who := identity(port); who != desired.Identity {
			t.Errorf("told by somebody who names no identity, it is %q", who)
		}

		moved := *reconfigured
		moved.Port = jvmtest.FreePort(t)
		report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: &moved})
		wantReason(t, report, "")
		wantMark(t, report, helperapi.AgentRunning, 1)
		if scrape(port) != "" || scrape(moved.Port) == "" {
			t.Error("the port did not move")
		}

		report = do(t, helperapi.VerbStatus, helperapi.Request{Target: target})
		wantReason(t, report, "")
		wantMark(t, report, helperapi.AgentRunning, 1)
		wantReason(t, do(t, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: moved.Port, Path: "/metrics"}}), "")

		for range 2 { // the second time, there is nothing left to do
			report = do(t, helperapi.VerbUnload, helperapi.Request{Target: target})
			wantReason(t, report, "")
			wantMark(t, report, helperapi.AgentStopped, 1)
			wantNoDirectory(t)
		}
		if scrape(moved.Port) != "" {
			t.Error("serves after unload")
		}
		wantReason(t, do(t, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: moved.Port, Path: "/metrics"}}), helperapi.ReasonEndpointNotServing)

		desired = stageAgent(t, nil, anyMBean, port)
		report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, report, "")
		wantMark(t, report, helperapi.AgentRunning, 2)
		app.Unharmed()
	})
}

// A young JVM is left to its own start, however old its container is.
func TestYoungJVM(t *testing.T) {
	cleanDirectory(t)
	before := jvm.StartTimeout
	t.Cleanup(func() { jvm.StartTimeout = before })
	jvm.StartTimeout = time.Hour // and an application without work has not used the CPU
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	inspected := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes
	if len(inspected) != 1 || inspected[0].Refusal == nil || inspected[0].Refusal.Reason != helperapi.ReasonJVMStarting {
		t.Errorf("inspect says %+v, want one %s", inspected, helperapi.ReasonJVMStarting)
	}
	req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	report := Helper{}.Do(short, helperapi.VerbLoad, req, nil)
	wantReason(t, report, helperapi.ReasonJVMStarting)
	if left := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes; len(left) != 1 || left[0].AgentJarOpen {
		t.Errorf("after a load there is %+v", left)
	}
	app.Unharmed()
}

// Helpers that are run at the same time load once.
func TestConcurrentLoads(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app := jdk.Start(t, silentLoad)
		req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if report := do(t, helperapi.VerbLoad, req); report.Error != nil && report.Error.Reason != helperapi.ReasonBusy {
					t.Errorf("%s: %s", report.Error.Reason, report.Error.Message)
				}
			})
		}
		wg.Wait()
		report := do(t, helperapi.VerbStatus, req)
		wantReason(t, report, "")
		wantMark(t, report, helperapi.AgentRunning, 1)
		app.Unharmed()
	})
}

func TestBusy(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	req := helperapi.Request{Target: target, Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
	p, err := lookup(helperapi.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(helperapi.AgentDirectory, jvmName(p)+lockSuffix))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonBusy)
	f.Close()
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	app.Unharmed()
}

// A busy port is found before anything is loaded, and forgotten once it is free.
func TestPortInUse(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	listener, port := listen(t)
	req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, port)}
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, helperapi.ReasonPortInUse)
	if p := report.Processes[0]; p.AgentJarOpen || p.Mark != nil {
		t.Errorf("something was loaded: %+v", p)
	}
	listener.Close()
	wantReason(t, do(t, helperapi.VerbLoad, req), "")

	// An agent that runs keeps running when the port it shall move to is busy.
	_, busy := listen(t)
	moved := *req.Desired
	moved.Port = busy
	report = do(t, helperapi.VerbLoad, helperapi.Request{Target: req.Target, Desired: &moved})
	wantReason(t, report, helperapi.ReasonPortInUse)
	if got := wantMark(t, report, helperapi.AgentRunning, 1).Port; got != port || scrape(port) == "" {
		t.Errorf("the agent is on port %d, want %d", got, port)
	}
	app.Unharmed()
}

// What the agent rejects leaves the application alone, and can be mended.
func TestBadConfiguration(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	for range 2 {
		bad := stageAgent(t, nil, "hostPort: localhost:1\n"+anyMBean, port)
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: bad})
		wantReason(t, report, helperapi.ReasonConfigRejected)
		wantMark(t, report, helperapi.AgentFailed, 1)
	}
	good := stageAgent(t, nil, anyMBean, port)
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: good})
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)

	bad := stageAgent(t, nil, "rules: {{{", port)
	report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: bad})
	wantReason(t, report, helperapi.ReasonConfigRejected)
	if got := wantMark(t, report, helperapi.AgentRunning, 1).ConfigSHA256; got != good.ConfigSHA256 || scrape(port) == "" {
		t.Errorf("serves %s, want what it served before, %s", got, good.ConfigSHA256)
	}
	report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: good}) // back to what still runs
	wantReason(t, report, "")
	app.Unharmed()
}

// A rule that takes too much of the application's CPU is named, by the canary at
// its load and by every later one, which changes nothing; without it, all is well.
func TestRuleTooExpensive(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, port := targetOf(t, app), jvmtest.FreePort(t)
	const pattern = ".*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*#x"
	expensive := stageAgent(t, nil, "rules: [{pattern: 'java.lang<type=Threading><>ThreadCount'}, {pattern: '"+pattern+"'}]\n", port)
	for range 3 {
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: expensive})
		wantReason(t, report, helperapi.ReasonRuleTooExpensive)
		if want := "Rule 2 (" + pattern + ")"; !strings.HasPrefix(report.Error.Message, want) {
			t.Errorf("says %q, want %s", report.Error.Message, want)
		}
		mark := wantMark(t, report, helperapi.AgentRunning, 1)
		if mark.ConfigSHA256 != expensive.ConfigSHA256 || *mark.Reloads != 0 {
			t.Errorf("the agent serves %s after %d reloads, want %s after none", mark.ConfigSHA256, *mark.Reloads, expensive.ConfigSHA256)
		}
	}
	if !strings.Contains(scrape(port), "\njava_lang_Threading_ThreadCount ") {
		t.Error("the other rule is not served")
	}
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, anyMBean, port)})
	wantReason(t, report, "")
	if mark := wantMark(t, report, helperapi.AgentRunning, 1); *mark.Reloads != 1 {
		t.Errorf("%d reloads, want 1", *mark.Reloads)
	}
	app.Unharmed()
}

// An agent that could not start its thread is loaded again, and says meanwhile
// why it does nothing.
func TestNoThread(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.User = nobody // root has no limit
	app := jvmtest.Need(t, 17).Start(t, o)
	req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
	p, err := lookup(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	limit := func(threads string) {
		cmd := exec.Command("prlimit", "--nproc="+threads+":", "--pid", strconv.Itoa(app.PID))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	limit("1")
	started := time.Now()
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, helperapi.ReasonAgentFailed)
	wantMark(t, report, helperapi.AgentStopped, 1)
	if !strings.Contains(report.Error.Message, "thread") || time.Since(started) > answerTimeout {
		t.Errorf("said %q after %s", report.Error.Message, time.Since(started))
	}
	limit("500")
	report = do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 2)
	app.Tell("ping")
}

func TestMissingModule(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Link(t, "java.base,java.instrument").Start(t, silentLoad)
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))})
	wantReason(t, report, helperapi.ReasonMissingModule)
	if !strings.Contains(report.Error.Message, "java.management") {
		t.Errorf("the module is not named: %s", report.Error.Message)
	}
	app.Unharmed()
}

// An application that replaces its properties takes the mark away for a moment;
// its agent is told again, and not loaded again.
func TestMarkLost(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
	for range 3 {
		app.Tell("forget")
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, report, "")
		if !report.Processes[0].AgentJarOpen || scrape(desired.Port) == "" {
			t.Errorf("got %+v", report.Processes[0])
		}
	}
	app.Tell("forget")
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
	app.Tell("ping")
}

// A JVM that got all system properties of its parent (Ant's clonevm) has the
// parent's mark, and no agent.
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
			p, err := lookup(helperapi.Request{Target: target})
			if err != nil {
				t.Fatal(err)
			}
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

// A jar of ours that is open without a mark is an agent that does not answer. It
// is never loaded again, whoever serves its port: an agent that lives writes its
// mark again.
func TestSilentAgent(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	jar, err := os.ReadFile(jvmtest.AgentJar(t)) // sets a property that is not the mark
	if err != nil {
		t.Fatal(err)
	}
	silent := helperapi.NewFile("agent-", jar, ".jar")
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{silent}}, jar), "")
	desired.Agent, desired.AgentSHA256 = silent.Name, silent.SHA256
	for range 2 {
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, report, helperapi.ReasonAgentNotAnswering)
		if !report.Processes[0].AgentJarOpen {
			t.Error("the agent's jar is not open")
		}
	}
	wantReason(t, do(t, helperapi.VerbStatus, helperapi.Request{Target: target}), helperapi.ReasonAgentNotAnswering)

	listener, port := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()
	desired.Port = port
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), helperapi.ReasonAgentNotAnswering)

	p, err := lookup(helperapi.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := p.Property(t.Context(), "jvmtest.agent"); err != nil || !strings.HasPrefix(value, "loads=1 ") {
		t.Errorf("the agent says %q, %v, want one load", value, err)
	}
	app.Unharmed()

	// What cannot be seen is not taken for what is not there.
	app.Stop()
	for _, p := range []jvm.Process{p, {PID: os.Getpid(), StartTime: p.StartTime}} {
		if open, err := trampolines(p); err == nil || typed(err).Reason != helperapi.ReasonProcessGone {
			t.Errorf("of a process that is gone: jar open %v, error %v", open, err)
		}
	}
}

// /tmp may be a link, or a mount that has another path outside of its container.
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

// Each reason not to attach comes with the application's output untouched.
func TestRefused(t *testing.T) {
	for _, major := range []int{17, 25} {
		jdk := jvmtest.Need(t, major)
		for reason, arg := range map[helperapi.Reason]string{
			helperapi.ReasonAttachDisabled:       "-XX:+DisableAttachMechanism",
			helperapi.ReasonAgentLoadingDisabled: "-XX:-EnableDynamicAgentLoading",
		} {
			t.Run(jdk.String()+string(reason), func(t *testing.T) {
				cleanDirectory(t)
				app := jdk.Start(t, jvmtest.Options{Args: []string{arg}})
				target := targetOf(t, app)
				inspected := do(t, helperapi.VerbInspect, helperapi.Request{})
				if r := inspected.Processes[0].Refusal; r == nil || r.Reason != reason {
					t.Errorf("inspect says %v, want %s", r, reason)
				}
				report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))})
				wantReason(t, report, reason)
				if len(report.Processes) != 1 || report.Processes[0].Refusal == nil || report.Processes[0].Refusal.Reason != reason {
					t.Errorf("load reports %+v, want a refusal for %s", report.Processes, reason)
				}
				wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
				app.Unharmed()
			})
		}
	}
}

// JEP 451: the report says what the application's output shows.
func TestWarning(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 25).Start(t, jvmtest.Options{})
	req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	if report.Processes[0].Warning == "" || strings.Count(app.Output(), "WARNING") != 4 {
		t.Errorf("warning %q for the output\n%s", report.Processes[0].Warning, app.Output())
	}
	if report := do(t, helperapi.VerbLoad, req); report.Processes[0].Warning != "" {
		t.Errorf("warning %q without a load", report.Processes[0].Warning)
	}
}

// A JVM that cannot take the agent says so on the application's output at every
// try: it needs a person. What JEP 451 says when one is loaded, it does not say.
func TestClassLoaderWithoutAgents(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-Djava.system.class.loader=App$Loader"}})
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))})
		wantReason(t, report, helperapi.ReasonUnsupportedJVM)
		if p := report.Processes[0]; p.Warning != "" || p.AgentJarOpen || strings.Contains(app.Output(), "WARNING") {
			t.Errorf("got %+v for the output\n%s", p, app.Output())
		}
		app.Tell("ping")
	})
}

func TestOtherUsersJVM(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.User = nobody
	app := jvmtest.Need(t, 25).Start(t, o)
	req := helperapi.Request{Target: targetOf(t, app), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	wantReason(t, do(t, helperapi.VerbUnload, req), "")
	app.Unharmed()
}

// From outside of its container: other PIDs, another /tmp.
func TestContainer(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.Container = true
	app := jvmtest.Need(t, 17).Start(t, o)
	target := targetOf(t, app)
	port := jvmtest.FreePort(t)
	desired := stageAgent(t, target, anyMBean, port)
	if _, err := os.Lstat(helperapi.AgentDirectory); err == nil {
		t.Errorf("%s is in this /tmp, not in the container's", helperapi.AgentDirectory)
	}
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	if scrape(port) == "" {
		t.Error("no metrics")
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
	app.Unharmed()
}

// inTestPod makes this sandbox look like a container of a pod, as the kubelet's
// mounts do.
func inTestPod(t *testing.T) (uid string) {
	t.Helper()
	uid = "0f3f5a6e-1111-4222-8333-444455556666"
	hosts := filepath.Join("/tmp/pods", uid, "etc-hosts")
	if err := os.MkdirAll(filepath.Dir(hosts), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hosts, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mounted := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(mounted, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(hosts, mounted, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mounted, 0); err != nil {
			t.Error(err)
		}
	})
	return uid
}

// Where a pod shares its PID namespace, or its node's, the helper keeps to the
// processes of its own container.
func TestOtherContainer(t *testing.T) {
	cleanDirectory(t)
	uid := inTestPod(t)
	o := silentLoad
	o.Container = true
	jdk := jvmtest.Need(t, 17)
	other, own := jdk.Start(t, o), jdk.Start(t, silentLoad)
	target := targetOf(t, other)
	desired := stageAgent(t, target, anyMBean, jvmtest.FreePort(t))

	report := do(t, helperapi.VerbInspect, helperapi.Request{PodUID: uid})
	wantReason(t, report, "")
	if len(report.Processes) != 1 || report.Processes[0].PID != own.PID {
		t.Errorf("found %+v", report.Processes)
	}
	req := helperapi.Request{PodUID: uid, Target: target, Desired: desired}
	for verb, want := range map[helperapi.Verb]helperapi.Reason{helperapi.VerbLoad: helperapi.ReasonProcessGone, helperapi.VerbStatus: helperapi.ReasonProcessGone, helperapi.VerbStage: helperapi.ReasonProcessGone, helperapi.VerbUnload: ""} {
		wantReason(t, do(t, verb, req), want)
	}
	for _, p := range do(t, helperapi.VerbInspect, helperapi.Request{}).Processes {
		if p.AgentJarOpen {
			t.Errorf("the agent is in %d", p.PID)
		}
	}
	stageAgent(t, nil, anyMBean, desired.Port)
	req.Target = targetOf(t, own)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	other.Unharmed()
	own.Unharmed()
}

// What is asked of the wrong process or with the wrong files does nothing.
func TestWrongRequests(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	reused := &helperapi.Target{PID: target.PID, StartTime: target.StartTime + 1}
	change := func(f func(*helperapi.Desired)) *helperapi.Desired { d := *desired; f(&d); return &d }
	missing := helperapi.NewFile("config-", []byte("missing"), ".yaml")
	for name, test := range map[string]struct {
		req    helperapi.Request
		reason helperapi.Reason
	}{
		"reused PID":      {helperapi.Request{Target: reused, Desired: desired}, helperapi.ReasonProcessGone},
		"no target":       {helperapi.Request{Desired: desired}, helperapi.ReasonBadRequest},
		"nothing desired": {helperapi.Request{Target: target}, helperapi.ReasonBadRequest},
		"path":            {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Config = "../etc/passwd" })}, helperapi.ReasonBadRequest},
		"no digest":       {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.ConfigSHA256 = "" })}, helperapi.ReasonBadRequest},
		"not an identity": {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Identity = "me\r\nSet-Cookie: a" })}, helperapi.ReasonBadRequest},
		"not a port":      {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Port = -1 })}, helperapi.ReasonBadRequest},
		"not staged":      {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.Config, d.ConfigSHA256 = missing.Name, missing.SHA256 })}, helperapi.ReasonStagingIncomplete},
		"other content":   {helperapi.Request{Target: target, Desired: change(func(d *helperapi.Desired) { d.ConfigSHA256 = missing.SHA256 })}, helperapi.ReasonStagingIncomplete},
		"wrong pod":       {helperapi.Request{PodUID: "0f3f5a6e-0000-4000-8000-000000000000", Target: target, Desired: desired}, helperapi.ReasonWrongPod},
	} {
		t.Run(name, func(t *testing.T) { wantReason(t, do(t, helperapi.VerbLoad, test.req), test.reason) })
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: reused}), "") // gone is out
	report := Helper{}.Do(canceled(), helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}, bytes.NewReader(nil))
	if report.Error == nil {
		t.Error("loads after the deadline")
	}
	if report := do(t, helperapi.VerbInspect, helperapi.Request{}); report.Processes[0].AgentJarOpen {
		t.Error("something was loaded")
	}
	app.Unharmed()
}

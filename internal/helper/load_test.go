//go:build linux

package helper

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// silentLoad suppresses the warning of JDK 21 and later.
var silentLoad = jvmtest.Options{Args: []string{"-XX:+EnableDynamicAgentLoading"}}

// The life cycle of the agent in one JVM.
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

		for range 2 { // the second unload has no effect
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

// Concurrent helpers load the agent once.
func TestConcurrentLoads(t *testing.T) {
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app := jdk.Start(t, silentLoad)
		req := staged(t, app)
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
	req := staged(t, app)
	p := processOf(t, req.Target)
	f, err := os.Create(filepath.Join(helperapi.AgentDirectory, directory.LockFile(p)))
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

// A helper that came to the lock before a load does not undo it, also if the load found the agent
// serving: the operator that asked for an unload has given it up, and relies on the load.
func TestTurnBeforeLoad(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	req := staged(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	p := processOf(t, req.Target)
	dir, err := directoryIn(p, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	turn, err := dir.Turn(p)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	var failed *helperapi.Error
	if err := turn.Lock(t.Context()); !errors.As(err, &failed) || failed.Reason != helperapi.ReasonBusy {
		t.Errorf("the helper that came before goes ahead (%v), want %s", err, helperapi.ReasonBusy)
	}
	app.Unharmed()
}

// An unload that still looks at the JVM while a load finds the agent serving does not stop it.
func TestLoadDuringUnload(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	req := staged(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	var looked atomic.Bool
	set(t, &property, func(p jvm.Process, ctx context.Context, name string) (string, bool, error) {
		if looked.CompareAndSwap(false, true) {
			wantReason(t, do(t, helperapi.VerbLoad, req), "")
		}
		return p.Property(ctx, name)
	})
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), helperapi.ReasonBusy)
	if scrape(req.Desired.Port) == "" {
		t.Error("the agent was stopped after a load found it serving")
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
	app.Unharmed()
}

// A port in use is detected before anything is loaded, and accepted once it is free.
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

	// A running agent keeps running when the port that it should move to is in use.
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

// An agent that could not start its thread, though there was room for it before the load,
// is loaded again, and until then reports why it does nothing.
func TestNoThread(t *testing.T) {
	cleanDirectory(t)
	o := silentLoad
	o.User = nobody // root has no limit
	app := jvmtest.Need(t, 17).Start(t, o)
	req := staged(t, app)
	p := processOf(t, req.Target)
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
	started, load := time.Now(), loadAgent
	set(t, &loadAgent, func(p jvm.Process, ctx context.Context, jar, options string) error {
		if started.IsZero() {
			return load(p, ctx, jar, options)
		}
		started = time.Now()
		limit("1")
		return load(p, ctx, jar, options)
	})
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, helperapi.ReasonAgentFailed)
	wantMark(t, report, helperapi.AgentStopped, 1)
	if !strings.Contains(report.Error.Message, "thread") || time.Since(started) > answerTimeout {
		t.Errorf("said %q after %s", report.Error.Message, time.Since(started))
	}
	started = time.Time{}
	limit("500")
	report = do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 2)
	app.Tell("ping")
}

//go:build linux

package helper

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A young JVM is given time to start, regardless of the age of its container.
func TestYoungJVM(t *testing.T) {
	cleanDirectory(t)
	set(t, &jvm.StartTimeout, time.Hour) // an idle application does not use the CPU time
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	inspected := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes
	if len(inspected) != 1 || inspected[0].Refusal == nil || inspected[0].Refusal.Reason != helperapi.ReasonJVMStarting {
		t.Errorf("inspect says %+v, want one %s", inspected, helperapi.ReasonJVMStarting)
	}
	req := staged(t, app)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	report := Helper{}.Do(short, helperapi.VerbLoad, req, nil)
	wantReason(t, report, helperapi.ReasonJVMStarting)
	if left := do(t, helperapi.VerbInspect, helperapi.Request{}).Processes; len(left) != 1 || left[0].AgentJarOpen {
		t.Errorf("after a load there is %+v", left)
	}
	app.Unharmed()
}

func TestMissingModule(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Link(t, "java.base,java.instrument").Start(t, silentLoad)
	report := do(t, helperapi.VerbLoad, staged(t, app))
	wantReason(t, report, helperapi.ReasonMissingModule)
	if !strings.Contains(report.Error.Message, "java.management") {
		t.Errorf("the module is not named: %s", report.Error.Message)
	}
	app.Unharmed()
}

// Each refusal leaves the application's output untouched.
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
				inspected := do(t, helperapi.VerbInspect, helperapi.Request{})
				if r := inspected.Processes[0].Refusal; r == nil || r.Reason != reason {
					t.Errorf("inspect says %v, want %s", r, reason)
				}
				req := staged(t, app)
				report := do(t, helperapi.VerbLoad, req)
				wantReason(t, report, reason)
				if len(report.Processes) != 1 || report.Processes[0].Refusal == nil || report.Processes[0].Refusal.Reason != reason {
					t.Errorf("load reports %+v, want a refusal for %s", report.Processes, reason)
				}
				wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
				app.Unharmed()
			})
		}
	}
}

// JEP 451: the report contains what the application's output shows.
func TestWarning(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 25).Start(t, jvmtest.Options{})
	req := staged(t, app)
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	if report.Processes[0].Warning == "" || strings.Count(app.Output(), "WARNING") != 4 {
		t.Errorf("warning %q for the output\n%s", report.Processes[0].Warning, app.Output())
	}
	if report := do(t, helperapi.VerbLoad, req); report.Processes[0].Warning != "" {
		t.Errorf("warning %q without a load", report.Processes[0].Warning)
	}
}

// A load that would make the JVM print a warning is refused on request, before anything
// is written for it; an agent in the JVM is reconfigured.
func TestRefusedWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		jdk   int
		args  []string
		warns bool
	}{
		"it prints the lines":     {jdk: 25, warns: true},
		"they are switched off":   {jdk: 25, args: silentLoad.Args},
		"the release has none":    {jdk: 17},
		"the last option decides": {jdk: 25, args: []string{"-XX:-EnableDynamicAgentLoading", "-XX:+EnableDynamicAgentLoading"}},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := jvmtest.Need(t, tc.jdk).Start(t, jvmtest.Options{Args: tc.args})
			inspected := do(t, helperapi.VerbInspect, helperapi.Request{})
			if len(inspected.Processes) != 1 || inspected.Processes[0].LoadWarns != tc.warns {
				t.Errorf("inspect says %+v", inspected.Processes)
			}
			req := staged(t, app)
			req.RefuseOnWarning = true
			if !tc.warns {
				wantReason(t, do(t, helperapi.VerbLoad, req), "")
				app.Unharmed()
				return
			}
			report := do(t, helperapi.VerbLoad, req)
			wantReason(t, report, helperapi.ReasonAgentLoadingWarns)
			if report.Processes[0].AgentJarOpen || strings.Contains(app.Output(), "WARNING") {
				t.Errorf("got %+v for the output\n%s", report.Processes[0], app.Output())
			}
			for _, name := range names(t) {
				if strings.HasSuffix(name, directory.DesiredSuffix) {
					t.Errorf("%s was written", name)
				}
			}
			if _, err := os.Stat(fmt.Sprintf("/tmp/.java_pid%d", app.PID)); err == nil {
				t.Error("the JVM was signaled")
			}

			// An agent that was loaded while the warning was accepted stays in use.
			accepting := req
			accepting.RefuseOnWarning = false
			wantReason(t, do(t, helperapi.VerbLoad, accepting), "")
			moved := req
			moved.Desired = stageAgent(t, nil, otherConfig, req.Desired.Port)
			wantReason(t, do(t, helperapi.VerbLoad, moved), "")

			// Once stopped, it would have to be loaded again.
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: req.Target}), "")
			req.Desired = stageAgent(t, nil, anyMBean, req.Desired.Port)
			wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonAgentLoadingWarns)
			if strings.Count(app.Output(), "WARNING") != 4 {
				t.Errorf("the output is\n%s", app.Output())
			}
			app.Tell("ping")
		})
	}
}

// A JVM that cannot load the agent prints an error on the application's output at every
// try, so the reason needs a person. The warning of JEP 451, for loaded agents, is not
// printed.
func TestClassLoaderWithoutAgents(t *testing.T) {
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-Djava.system.class.loader=App$Loader"}})
		report := do(t, helperapi.VerbLoad, staged(t, app))
		wantReason(t, report, helperapi.ReasonUnsupportedJVM)
		if p := report.Processes[0]; p.Warning != "" || p.AgentJarOpen || strings.Contains(app.Output(), "WARNING") {
			t.Errorf("got %+v for the output\n%s", p, app.Output())
		}
		app.Tell("ping")
	})
}

// A process that is not dumpable is hidden from its own user: each operation says that, and
// the inspection still lists the others.
func TestNotDumpable(t *testing.T) {
	cleanDirectory(t)
	jdk := jvmtest.Need(t, 17)
	hidden := jdk.Start(t, jvmtest.Options{User: nobody, Launcher: "java", LauncherMode: 0o711})
	other := jdk.Start(t, jvmtest.Options{})
	report := do(t, helperapi.VerbInspect, helperapi.Request{})
	wantReason(t, report, "")
	if len(report.Processes) != 2 || report.Processes[0].Refusal == nil || report.Processes[0].Refusal.Reason != helperapi.ReasonProcessNotReadable || report.Processes[1].Refusal != nil {
		t.Errorf("inspect reports %+v", report.Processes)
	}
	req := helperapi.Request{Target: targetOf(t, hidden), Desired: stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))}
	wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonProcessNotReadable)
	hidden.Unharmed()
	other.Unharmed()
}

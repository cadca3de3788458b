//go:build linux

package jvm

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The kernel keeps 15 bytes of a thread's name, and JDK 26 and later remove the middle of
// a longer one.
func TestKernelNames(t *testing.T) {
	for name, want := range map[string][]string{
		"Notification Thread":     {"Notification Th", "Notific..Thread"},
		"VM Periodic Task Thread": {"VM Periodic Tas", "VM Peri..Thread"},
		"Signal Dispatcher":       {"Signal Dispatch", "Signal ..atcher"},
		"fifteen letters":         {"fifteen letters"},
		"VM Thread":               {"VM Thread"},
	} {
		if diff := cmp.Diff(want, kernelNames(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A JVM that is frozen during its start, by a debugger, the freezer or a CPU limit, is
// starting, regardless of its age.
func TestFrozenStart(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		frozen := 0
		for after := time.Duration(0); after < 60*time.Millisecond; after += 4 * time.Millisecond {
			app := jdk.Start(t, jvmtest.Options{Unready: true})
			app.Await("libjvm is mapped", func() bool { p, err := look(app.PID, ""); return err == nil && p.isJava() })
			time.Sleep(after) // at any point of its start
			if err := syscall.Kill(app.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			app.Await("it is stopped", func() bool {
				stat, err := readProc(app.PID, "stat")
				return err == nil && strings.Contains(string(stat), ") T ")
			})
			p := found(t, app.PID)
			p.StartTime -= 3600 * 100
			refusal := p.Refusal()
			if _, live := p.live(); !live {
				frozen++
				if refusal == nil || refusal.Kind != JVMStarting {
					t.Errorf("stopped after %s it is refused with %v", after, refusal)
				}
			}
			app.Stop()
		}
		if frozen == 0 {
			t.Error("no JVM was caught while it started")
		}
	})
}

// A JVM whose threads have other names, or none, is recognized as live, but later.
func TestUnknownThreads(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-XX:-UseNotificationThread"}})
	p := found(t, app.PID)
	p.Version = "29" // of which the other thread says nothing
	refused := func(when string) {
		t.Helper()
		if refusal := p.Refusal(); refusal == nil || refusal.Kind != JVMStarting {
			t.Errorf("%s it is refused with %v", when, refusal)
		}
	}
	refused("just started")
	set(t, &unknownStart, 0)
	refused("old, without CPU for a start,")
	for !p.usedStartCPU() {
		app.Tell("work")
	}
	if err := p.Attach(deadline(t)); err != nil {
		t.Error(err)
	}
	app.Unharmed()
}

// startYoung starts a JVM and returns as soon as it is recognized as one: a libjvm is
// mapped.
func startYoung(t *testing.T, jdk jvmtest.JDK, args ...string) (*jvmtest.Process, Process) {
	t.Helper()
	app := jdk.Start(t, jvmtest.Options{Unready: true, Args: append([]string{"-XX:+EnableDynamicAgentLoading"}, args...)})
	start, err := StartTime(app.PID)
	if err != nil {
		t.Fatal(err)
	}
	var p Process
	app.Await("libjvm is mapped", func() bool { p, err = Lookup(app.PID, start); return err == nil })
	return app, p
}

// An agent that loads before the application's main has run can prevent it from setting
// its LogManager, which is only possible once.
func TestApplicationStartsFirst(t *testing.T) {
	set(t, &StartTimeout, 10*time.Second)
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		t.Parallel()
		app, p := startYoung(t, jdk, "-Djvmtest.logmanager=true")
		attach(t, p)
		loadAgent(t, p, "log")
		app.AwaitOutput("ready\n")
		app.Tell("logmanager")
		app.Unharmed()
	})
}

// started is true once a JVM has had its time to start the application.
func TestStarted(t *testing.T) {
	set(t, &StartTimeout, 10*time.Second)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	aged := func(age time.Duration) Process {
		aged := p
		aged.StartTime -= uint64(age / tick)
		return aged
	}
	if p.usedStartCPU() {
		t.Fatal("that much CPU for so small an application")
	}
	for age, want := range map[time.Duration]bool{0: false, startAge: false, StartTimeout: true} {
		if got := aged(age).started(); got != want {
			t.Errorf("without CPU, %s older: started is %t", age, got)
		}
	}
	for !p.usedStartCPU() {
		app.Tell("work")
	}
	if !aged(startAge).started() {
		t.Error("with the CPU, and old enough: it has not started")
	}
}

// A JVM in its first milliseconds is killed by SIGQUIT, and shortly after by an agent.
// Attaching begins as soon as a libjvm is mapped, and must neither harm the JVM nor make
// it print. With -Xrs, the socket exists long before it may be used.
func TestYoungJVM(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for i := range jvmtest.Rounds(20) {
			var args []string
			if i%2 == 1 {
				args = []string{"-Xrs"}
			}
			app, p := startYoung(t, jdk, args...)
			if err := p.Attach(deadline(t)); err != nil {
				t.Fatalf("%v\n%s", err, app.Output())
			}
			if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "young"); err != nil {
				t.Fatalf("%v\n%s", err, app.Output())
			}
			wantProperty(t, p, "loads=1 options=young"+escaped)
			app.AwaitOutput("ready\n")
			app.Unharmed()
			app.Stop()
		}
	})
}

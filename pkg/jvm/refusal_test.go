//go:build linux

package jvm

import (
	"os"
	"path/filepath"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// -XX:+DisableAttachMechanism: SIGQUIT would print all stacks.
func TestAttachDisabled(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for name, o := range map[string]jvmtest.Options{
			"argument":          {Args: []string{"-XX:+DisableAttachMechanism"}},
			"JAVA_TOOL_OPTIONS": {Env: []string{"JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism"}},
			"last wins":         {Args: []string{"-XX:-DisableAttachMechanism"}, Env: []string{"_JAVA_OPTIONS=-XX:+DisableAttachMechanism"}},
		} {
			t.Run(name, func(t *testing.T) {
				app := jdk.Start(t, o)
				wantKind(t, found(t, app.PID).Attach(deadline(t)), AttachDisabled)
				app.Unharmed()
			})
		}
	})
}

// A JVM with unknown options is not signaled: it may have -XX:+DisableAttachMechanism,
// from a host program, a jpackage launcher or a deleted file. Java 8 has no such files.
func TestOptionsUnknown(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.Since(11), func(t *testing.T, jdk jvmtest.JDK) {
		refused := func(t *testing.T, app *jvmtest.Process, mainClass string) {
			t.Helper()
			p := found(t, app.PID)
			if p.MainClass != mainClass {
				t.Errorf("main class is %q, want %q", p.MainClass, mainClass)
			}
			wantKind(t, p.Attach(deadline(t)), OptionsUnknown)
			stale := filepath.Join("/tmp", p.socketName())
			listen(t, stale).Close() // the file remains without a listener
			defer os.Remove(stale)
			wantKind(t, p.Attach(deadline(t)), OptionsUnknown)
			wantNoAnnouncement(t, p)
			app.Unharmed()
		}
		t.Run("launcher", func(t *testing.T) {
			refused(t, jdk.Start(t, jvmtest.Options{Launcher: "host"}), "host")
		})
		for option, mainClass := range map[string]string{"@": "", "-XX:VMOptionsFile=": "App"} {
			t.Run(option, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "options")
				if err := os.WriteFile(file, []byte("-XX:+DisableAttachMechanism\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				app := jdk.Start(t, jvmtest.Options{Args: []string{option + file}})
				wantKind(t, found(t, app.PID).Attach(deadline(t)), AttachDisabled)
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				refused(t, app, mainClass)
			})
		}
		t.Run("socket", func(t *testing.T) {
			app := jdk.Start(t, jvmtest.Options{Launcher: "host", Args: []string{"-XX:+StartAttachListener"}})
			if err := found(t, app.PID).Attach(deadline(t)); err != nil {
				t.Error(err)
			}
			app.Unharmed()
		})
	})
}

// The refusal is based on the flag, or, if the flag could not be seen, on the JVM's
// reply. Java 8 has no such flag.
func TestAgentLoadingDisabled(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.Since(11), func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:-EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		wantKind(t, p.Attach(deadline(t)), AgentLoadingDisabled)
		p.Flags.AgentLoading = Unset
		attach(t, p)
		wantKind(t, p.LoadAgent(deadline(t), jvmtest.AgentJar(t), ""), AgentLoadingDisabled)
		app.Unharmed()
	})
}

// With -Xrs SIGQUIT would kill the JVM, but the socket exists from the start.
func TestSignalsReduced(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-Xrs", "-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		attach(t, p)
		loadAgent(t, p, "")
		if err := os.Remove(filepath.Join("/tmp", p.socketName())); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.Attach(deadline(t)), SignalsReduced) // after the time that it may take to open the socket
		p.Flags.SignalsReduced = false                     // as if another cause disabled the signal handler
		if refusal := p.Refusal(); refusal == nil || refusal.Kind != SignalsReduced {
			t.Errorf("it is refused with %v", refusal)
		}
		app.Unharmed()
	})
}

func TestTmpNotWritable(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	app := jdk.Start(t, jvmtest.Options{User: nobody})
	p := found(t, app.PID)
	if err := os.Chmod("/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Chmod("/tmp", 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}()
	wantKind(t, p.Attach(deadline(t)), TmpNotWritable)
	app.Unharmed()
}

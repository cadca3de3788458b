//go:build linux

package jvm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestMain(m *testing.M) {
	StartTimeout = 0 // the tests' applications say when they are up
	if target := os.Getenv(strangerTarget); target != "" {
		stranger(target)
		return
	}
	jvmtest.Main(m)
}

// strangerTarget makes this binary attach to a process, as whoever runs it, and
// say what kind of error that is.
const strangerTarget = "JVM_TEST_TARGET"

func stranger(target string) {
	var p Process
	if _, err := fmt.Sscan(target, &p.PID, &p.StartTime); err != nil {
		panic(err)
	}
	p, err := Lookup(p.PID, p.StartTime)
	if err == nil {
		err = p.Attach(context.Background())
	}
	if typed, ok := errors.AsType[*Error](err); ok {
		fmt.Print(typed.Kind)
		return
	}
	fmt.Print(err)
}

const (
	nobody   = 65534
	property = "jvmtest.agent"
	escaped  = " \u00e9\u4e16\U0001F600:=#!\\" // what the test agent puts behind its options
)

func found(t *testing.T, pid int) Process {
	t.Helper()
	start, err := StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Lookup(pid, start)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func wantKind(t *testing.T, err error, kind Kind) {
	t.Helper()
	var typed *Error
	if !errors.As(err, &typed) || typed.Kind != kind {
		t.Fatalf("error is %v, want one of kind %s", err, kind)
	}
}

func wantProperty(t *testing.T, p Process, want string) {
	t.Helper()
	value, _, err := p.Property(deadline(t), property)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, value); diff != "" {
		t.Errorf("property (-want +got):\n%s", diff)
	}
}

func TestAttachAndLoad(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:+EnableDynamicAgentLoading", "-Dsecret=hush"}})
		p := found(t, app.PID)

		want := Process{
			PID: app.PID, NamespacePID: app.PID, Implementation: HotSpot,
			MainClass: "App", Flags: Flags{AgentLoading: On}, CatchesQuit: true,
		}
		if diff := cmp.Diff(want, p, cmpopts.IgnoreUnexported(Process{}), cmpopts.IgnoreFields(Process{}, "StartTime", "Vendor", "Version")); diff != "" {
			t.Errorf("process (-want +got):\n%s", diff)
		}
		if Major(p.Version) != jdk.Major {
			t.Errorf("version is %q, want %d", p.Version, jdk.Major)
		}
		if refusal := p.Refusal(); refusal != nil {
			t.Errorf("refused: %v", refusal)
		}
		if p.HasSocket() {
			t.Error("there is a socket before anybody attached")
		}
		if _, _, err := p.Property(deadline(t), property); err == nil {
			t.Error("a property was read without a listener: who signalled?")
		}
		for range 2 { // the second time, the socket is there
			if err := p.Attach(deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
		if _, found, err := p.Property(deadline(t), property); found || err != nil {
			t.Errorf("property before the load: %v, %v", found, err)
		}
		if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "a=b,c"); err != nil {
			t.Fatal(err)
		}
		wantProperty(t, p, "loads=1 options=a=b,c"+escaped)
		files, err := p.OpenFiles()
		if err != nil || !slices.Contains(files, jvmtest.AgentJar(t)) {
			t.Errorf("the agent's jar is not open: %v, %v", files, err)
		}
		app.Unharmed()
		if left, _ := filepath.Glob("/tmp/.attach_pid*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// Loading an agent that throws, or a jar that is none, is an error and hurts nobody.
func TestLoadFails(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{})
		p := found(t, app.PID)
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.LoadAgent(deadline(t), "/nowhere/agent.jar", ""), UnsupportedJVM)
		wantKind(t, p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "throw"), AgentFailed)
		wantKind(t, p.LoadAgent(deadline(t), jvmtest.AgentJar(t), strings.Repeat("x", 1024)), AttachFailed)
		app.Tell("ping")
	})
}

// A runtime that was linked for one application may lack java.instrument.
func TestMissingInstrumentModule(t *testing.T) {
	app := jvmtest.Need(t, 17).Link(t, "java.base").Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	if err := p.Attach(deadline(t)); err != nil {
		t.Fatal(err)
	}
	err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "")
	wantKind(t, err, MissingModule)
	if !strings.Contains(err.Error(), "java.instrument") {
		t.Errorf("the module is not named: %v", err)
	}
	app.Unharmed()
}

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

// Where the options cannot be known, the JVM is not signalled: it may have
// -XX:+DisableAttachMechanism, from a host program, a jpackage launcher or a file
// that is gone. Java 8 has no such files.
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
			leaveSocket(t, stale)
			defer os.Remove(stale)
			wantKind(t, p.Attach(deadline(t)), OptionsUnknown)
			if left, _ := filepath.Glob("/tmp/.attach_pid*"); len(left) > 0 {
				t.Errorf("announced: %v", left)
			}
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

// leaveSocket makes a socket that nobody listens on.
func leaveSocket(t *testing.T, name string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

// The flag says it before, and the JVM says it where the flag could not be seen.
// Java 8 has no such flag.
func TestAgentLoadingDisabled(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.Since(11), func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:-EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		wantKind(t, p.Attach(deadline(t)), AgentLoadingDisabled)
		p.Flags.AgentLoading = Unset
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.LoadAgent(deadline(t), jvmtest.AgentJar(t), ""), AgentLoadingDisabled)
		app.Unharmed()
	})
}

// -Xrs: SIGQUIT would kill, but the socket is there from the start.
func TestSignalsReduced(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-Xrs", "-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), ""); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join("/tmp", p.socketName())); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.Attach(deadline(t)), SignalsReduced) // once it had the time to open it
		p.Flags.SignalsReduced = false                     // as where something else took the signal over
		if refusal := p.Refusal(); refusal == nil || refusal.Kind != SignalsReduced {
			t.Errorf("it is refused with %v", refusal)
		}
		app.Unharmed()
	})
}

// A JVM that is frozen on its way up, by a debugger, the freezer or a CPU limit,
// is one that starts, however old it is.
func TestFrozenStart(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		frozen := 0
		for after := time.Duration(0); after < 60*time.Millisecond; after += 4 * time.Millisecond {
			app := jdk.Start(t, jvmtest.Options{Unready: true})
			app.Await("libjvm is mapped", func() bool { p, err := look(app.PID); return err == nil && p.isJava() })
			time.Sleep(after) // anywhere in its start
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

// Of a JVM whose threads are called something else, or have no names, it is known
// late that it is up, and it is known.
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
	defer func(before time.Duration) { unknownStart = before }(unknownStart)
	unknownStart = 0
	refused("old, without CPU for a start,")
	for !p.usedStartCPU() {
		app.Tell("work")
	}
	if err := p.Attach(deadline(t)); err != nil {
		t.Error(err)
	}
	app.Unharmed()
}

// An agent that comes before the application's main has settled what is settled
// once takes its LogManager away.
func TestApplicationStartsFirst(t *testing.T) {
	before := StartTimeout
	t.Cleanup(func() { StartTimeout = before })
	StartTimeout = 10 * time.Second
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		t.Parallel()
		app := jdk.Start(t, jvmtest.Options{Unready: true, Args: []string{"-XX:+EnableDynamicAgentLoading", "-Djvmtest.logmanager=true"}})
		start, err := StartTime(app.PID)
		if err != nil {
			t.Fatal(err)
		}
		var p Process
		app.Await("libjvm is mapped", func() bool { p, err = Lookup(app.PID, start); return err == nil })
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "log"); err != nil {
			t.Fatal(err)
		}
		app.AwaitOutput("ready\n")
		app.Tell("logmanager")
		app.Unharmed()
	})
}

// When a JVM has had its time to start the application.
func TestStarted(t *testing.T) {
	defer func(before time.Duration) { StartTimeout = before }(StartTimeout)
	StartTimeout = 10 * time.Second
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

// What cleans /tmp removes the socket; HotSpot makes a new one.
func TestSocketDeleted(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if p.listens() {
			t.Error("listens before anybody attached")
		}
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join("/tmp", p.socketName())); err != nil {
			t.Fatal(err)
		}
		if !p.listens() {
			t.Error("with its file deleted, the listening socket is not found")
		}
		old := p
		old.Version = "11.0.2" // which would print its stacks
		wantKind(t, old.Attach(deadline(t)), AttachFailed)
		app.Unharmed()
		if p.Version == "1.8" { // which may be such an old one: Debian's names no update
			wantKind(t, p.Attach(deadline(t)), AttachFailed)
			return
		}
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), ""); err != nil {
			t.Fatal(err)
		}
		app.Unharmed()
	})
}

// A JVM in its first milliseconds dies of SIGQUIT, a little later of an agent.
// Attaching begins as soon as a libjvm is mapped, and must neither harm the JVM
// nor make it print. With -Xrs, the socket is there long before it may be used.
func TestYoungJVM(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for i := range 20 {
			o := jvmtest.Options{Unready: true, Args: []string{"-XX:+EnableDynamicAgentLoading"}}
			if i%2 == 1 {
				o.Args = append(o.Args, "-Xrs")
			}
			app := jdk.Start(t, o)
			start, err := StartTime(app.PID)
			if err != nil {
				t.Fatal(err)
			}
			var p Process
			app.Await("libjvm is mapped", func() bool { p, err = Lookup(app.PID, start); return err == nil })
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

// The JVM of another user takes its user and group, also from root.
func TestOtherUser(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{User: nobody, Args: []string{"-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if p.UID != nobody || p.GID != nobody {
			t.Errorf("user and group are %d and %d, want %d", p.UID, p.GID, nobody)
		}
		for _, id := range []syscall.Credential{{Uid: 1234, Gid: 1234}, {Uid: nobody, Gid: 1234}} {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = []string{fmt.Sprintf("%s=%d %d", strangerTarget, p.PID, p.StartTime)}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &id}
			kind, err := cmd.CombinedOutput()
			if err != nil || Kind(kind) != UserMismatch {
				t.Errorf("attached as %+v: %s, %v, want %s", id, kind, err, UserMismatch)
			}
		}
		app.Unharmed()
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), ""); err != nil {
			t.Fatal(err)
		}
		app.Unharmed()
		if os.Geteuid() != 0 {
			t.Error("this process is no longer root")
		}
	})
}

// Root in a container with next to no capabilities: it takes those to become the
// JVM's user, and not CAP_SYS_PTRACE.
func TestDroppedCapabilities(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{User: nobody})
	p := found(t, app.PID)
	for _, test := range []struct{ capabilities, want string }{
		{"-all", string(UserMismatch)},
		{"-all,+setuid", string(UserMismatch)},
		{"-all,+setuid,+setgid", "<nil>"},
	} {
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		cmd := exec.Command("setpriv", "--bounding-set="+test.capabilities, "/proc/self/fd/3")
		cmd.ExtraFiles = []*os.File{self}
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", strangerTarget, p.PID, p.StartTime))
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != test.want {
			t.Errorf("with %s: %s, %v, want %s", test.capabilities, out, err, test.want)
		}
	}
	app.Unharmed()
}

// A person on a host attaches to a JVM in a container: another PID, another /tmp.
func TestContainer(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Container: true, Args: []string{"-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if p.NamespacePID != 1 {
			t.Errorf("the JVM sees itself as %d, want 1", p.NamespacePID)
		}
		if beside := jdk.Start(t, jvmtest.Options{}); !p.InOtherContainer() || found(t, beside.PID).InOtherContainer() {
			t.Error("a JVM in a container is not told from one beside this process")
		}
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat("/tmp/.java_pid1"); err == nil {
			t.Error("the socket is in this /tmp, not in the container's")
		}
		if err := p.LoadAgent(deadline(t), jvmtest.AgentJar(t), "x"); err != nil {
			t.Fatal(err)
		}
		wantProperty(t, p, "loads=1 options=x"+escaped)
		app.Unharmed()
	})
}

// Whatever happens to the attacher, a SIGQUIT that was sent finds its announcement.
func TestDeadline(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{})
		p := found(t, app.PID)
		past, cancel := context.WithCancel(t.Context())
		cancel()
		wantKind(t, p.Attach(past), AttachTimeout)
		if left, _ := filepath.Glob("/tmp/.attach_pid*"); len(left) > 0 {
			t.Errorf("left behind without a signal: %v", left)
		}

		if err := syscall.Kill(app.PID, syscall.SIGSTOP); err != nil { // as the freezer does
			t.Fatal(err)
		}
		for range 2 {
			short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			wantKind(t, p.Attach(short), AttachTimeout)
		}
		if err := syscall.Kill(app.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		app.Await("the socket is there", p.HasSocket)
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob("/tmp/.attach_pid*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		app.Unharmed()
	})
}

// A second SIGQUIT, while the first is pending, can make the JVM print its stacks:
// none is sent over an announcement but that of somebody who surely is gone.
func TestAnnounced(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	announcement := filepath.Join("/tmp", p.announcement())
	if err := os.WriteFile(announcement, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	wantKind(t, p.Attach(short), AttachTimeout)
	if p.HasSocket() {
		t.Error("the JVM was signalled")
	}

	former := time.Now().Add(-time.Minute)
	if err := os.Chtimes(announcement, former, former); err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(announcement); err == nil {
		t.Error("the announcement is still there")
	}
	app.Unharmed()

	old := p // older than any SIGQUIT can be pending
	old.StartTime -= 3600 * 100
	for ago, want := range map[time.Duration]bool{pending - time.Minute: true, pending + time.Minute: false} {
		if err := os.WriteFile(announcement, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-ago)
		if err := os.Chtimes(announcement, then, then); err != nil {
			t.Fatal(err)
		}
		if other, err := old.announce(); err != nil || other != want {
			t.Errorf("%s ago: another attacher's: %v, %v", ago, other, err)
		}
		if other, err := old.announce(); err != nil || !other {
			t.Errorf("%s ago, the second time: another attacher's: %v, %v", ago, other, err)
		}
		old.withdraw()
	}
}

// A JVM that does not accept attachers, unknown to us, prints its stacks once and
// not again, however often and how long after it is tried. Java 8 has no file to
// hide that in.
func TestSignalledOnce(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.Since(11), func(t *testing.T, jdk jvmtest.JDK) {
		hidden := filepath.Join(t.TempDir(), "options")
		write := func(options string) {
			if err := os.WriteFile(hidden, []byte(options), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("-XX:+DisableAttachMechanism")
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:VMOptionsFile=" + hidden}})
		write("-XX:-DisableAttachMechanism")
		p := found(t, app.PID)
		for range 3 {
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			wantKind(t, p.Attach(short), AttachTimeout)
			cancel()
			app.AwaitOutput("Full thread dump")
			former := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join("/tmp", p.announcement()), former, former); err != nil {
				t.Fatal(err)
			}
		}
		app.Tell("ping")
		if dumps := strings.Count(app.Output(), "Full thread dump"); dumps != 1 {
			t.Errorf("the application's output has %d thread dumps", dumps)
		}
		if err := os.Remove(filepath.Join("/tmp", p.announcement())); err != nil {
			t.Error(err)
		}
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

// Nothing but the very process that was looked at is ever signalled.
func TestNeverSignalled(t *testing.T) {
	sleeper := jvmtest.Run(t, exec.Command("sleep", "3600")) // dies of SIGQUIT
	start, err := StartTime(sleeper.PID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lookup(sleeper.PID, start)
	wantKind(t, err, UnsupportedJVM)

	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	_, err = Lookup(app.PID, p.StartTime+1)
	wantKind(t, err, ProcessGone)

	reused := p // its PID now is a process that would die
	reused.PID, reused.NamespacePID, reused.StartTime = sleeper.PID, sleeper.PID, start-1
	wantKind(t, reused.Attach(deadline(t)), ProcessGone)
	wantKind(t, reused.signal(deadline(t)), ProcessGone)
	reused.StartTime = start
	wantKind(t, reused.signal(deadline(t)), JVMStarting)

	exited := found(t, app.PID)
	app.Unharmed()
	app.Stop()
	wantKind(t, exited.Attach(deadline(t)), ProcessGone)

	if _, err := StartTime(sleeper.PID); err != nil {
		t.Errorf("the bystander is gone: %v", err)
	}
}

// Whom the signal meets is looked at again at the very last: a JVM that listens by
// now would print its stacks, and one that changed its user is not asked yet.
func TestLastLookBeforeSignal(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	former := p
	former.UID++
	wantKind(t, former.signal(deadline(t)), JVMStarting)
	former = p
	former.GID++
	wantKind(t, former.signal(deadline(t)), JVMStarting)
	if p.HasSocket() {
		t.Error("the JVM was signalled")
	}
	if err := p.Attach(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if err := p.signal(deadline(t)); err != nil {
		t.Error(err)
	}
	app.Unharmed()

	reduced := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Xrs"}}) // which dies of SIGQUIT
	p = found(t, reduced.PID)
	if err := p.Attach(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join("/tmp", p.socketName())); err != nil {
		t.Fatal(err)
	}
	if _, err := p.announce(); err != nil {
		t.Fatal(err)
	}
	wantKind(t, p.signal(deadline(t)), JVMStarting)
	p.withdraw()
	reduced.Unharmed()
}

// HotSpot looks for the announcement in its working directory first. One that is
// not its user's makes it take the SIGQUIT for a person's, and print.
func TestForeignAnnouncement(t *testing.T) {
	jvmtest.NeedUsers(t)
	directory := t.TempDir()
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Dir: directory})
	p := found(t, app.PID)
	foreign := filepath.Join(directory, p.announcement())
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(foreign, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	wantKind(t, p.Attach(deadline(t)), AttachFailed)
	app.Unharmed()
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(deadline(t)); err != nil {
		t.Error(err)
	}
	app.Unharmed()
}

// Whoever may write to /tmp can put something where the socket should be.
func TestHostileSocket(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	socket := filepath.Join("/tmp", p.socketName())
	place := map[string]func(t *testing.T){
		"link": func(t *testing.T) {
			if err := os.Symlink("/nowhere", socket); err != nil {
				t.Fatal(err)
			}
		},
		"file": func(t *testing.T) {
			if err := os.WriteFile(socket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"pipe": func(t *testing.T) {
			if err := syscall.Mkfifo(socket, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"listener": func(t *testing.T) { listen(t, socket) },
		"listener of another user": func(t *testing.T) {
			jvmtest.NeedUsers(t)
			listen(t, socket)
			if err := os.Chown(socket, 1234, 1234); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, put := range place {
		t.Run(name, func(t *testing.T) {
			put(t)
			defer os.Remove(socket)
			wantKind(t, p.Attach(deadline(t)), AttachFailed)
			app.Unharmed()
		})
	}
	t.Run("left by a former JVM", func(t *testing.T) {
		listen(t, socket).Close() // the file stays, nobody listens
		if err := p.Attach(deadline(t)); err != nil {
			t.Fatal(err)
		}
		app.Unharmed()
	})
}

func listen(t *testing.T, socket string) *net.UnixListener {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	t.Cleanup(func() { listener.Close() })
	return listener
}

func TestFindListsAll(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	one, other := jdk.Start(t, jvmtest.Options{}), jdk.Start(t, jvmtest.Options{User: nobody})
	jvmtest.Run(t, exec.Command("sleep", "3600"))
	processes, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range processes {
		pids = append(pids, p.PID)
	}
	if diff := cmp.Diff([]int{one.PID, other.PID}, pids); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
}

//go:build linux

package jvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// foreignTarget makes this binary attach to a process as its current user, and print the
// kind of the error.
const foreignTarget = "JVM_TEST_TARGET"

func otherUser(target string) {
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

// Attaching to another user's JVM uses its user and group, even for root.
func TestOtherUser(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{User: nobody, Args: []string{"-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if p.UID != nobody || p.GID != nobody {
			t.Errorf("user and group are %d and %d, want %d", p.UID, p.GID, nobody)
		}
		for _, id := range []syscall.Credential{{Uid: 1234, Gid: 1234}, {Uid: nobody, Gid: 1234}} {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = []string{fmt.Sprintf("%s=%d %d", foreignTarget, p.PID, p.StartTime)}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &id}
			kind, err := cmd.CombinedOutput()
			if err != nil || Kind(kind) != UserMismatch {
				t.Errorf("attached as %+v: %s, %v, want %s", id, kind, err, UserMismatch)
			}
		}
		app.Unharmed()
		attach(t, p)
		loadAgent(t, p, "")
		app.Unharmed()
		if os.Geteuid() != 0 {
			t.Error("this process is no longer root")
		}
	})
}

// Root in a container with few capabilities: only those to become the JVM's user are
// needed, not CAP_SYS_PTRACE.
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
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", foreignTarget, p.PID, p.StartTime))
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != test.want {
			t.Errorf("with %s: %s, %v, want %s", test.capabilities, out, err, test.want)
		}
	}
	app.Unharmed()
}

// A process that is not dumpable is hidden from its own user. The reason says so, rather
// than ask for another user.
func TestNotDumpable(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	// The kernel protects what runs a program that its user may not read.
	app := jdk.Start(t, jvmtest.Options{User: nobody, Launcher: "java", LauncherMode: 0o711})
	p := found(t, app.PID)
	if os.Geteuid() == 0 && p.unreadable == nil {
		t.Error("the test's process is readable")
	}
	wantKind(t, p.Attach(deadline(t)), ProcessNotReadable)
	app.Unharmed()
}

//go:build linux

package jvm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Whatever happens to the attacher, a SIGQUIT in flight has its announcement.
func TestDeadline(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{})
		p := found(t, app.PID)
		past, cancel := context.WithCancel(t.Context())
		cancel()
		wantKind(t, p.Attach(past), AttachTimeout)
		wantNoAnnouncement(t, p)

		if err := syscall.Kill(app.PID, syscall.SIGSTOP); err != nil { // like the cgroup freezer
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
		attach(t, p)
		wantNoAnnouncement(t, p)
		app.Unharmed()
	})
}

// Only the process that was inspected is ever signaled.
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

	reused := p // its PID now belongs to a process that would die
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

// The process is checked again immediately before the signal: a JVM that already listens
// would print its stacks, and one that changed its user is not attached to yet.
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
	attach(t, p)
	if err := p.signal(deadline(t)); err != nil {
		t.Error(err)
	}
	app.Unharmed()

	reduced := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Xrs"}}) // would be killed by SIGQUIT
	p = found(t, reduced.PID)
	attach(t, p)
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

// Without a handle of the process, a signal might reach another container of the node.
func TestSignalOnNodeNeedsHandle(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	p.in = InPod("pod", "container")
	set(t, &findProcess, func(pid int) (*os.Process, error) { return &os.Process{Pid: pid}, nil })
	err := p.signal(deadline(t))
	wantKind(t, err, AttachFailed)
	if !strings.Contains(err.Error(), "pidfd_open") {
		t.Error(err)
	}
	app.Unharmed()
}

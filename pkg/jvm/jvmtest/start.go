//go:build linux

package jvmtest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options configure the start of a JVM.
type Options struct {
	// Args are options of the java command.
	Args []string
	// Env is appended to the environment.
	Env []string
	// User is the user and group ID; 0 is root.
	User uint32
	// Container starts the JVM in its own PID and mount namespaces.
	Container bool
	// UserNamespace starts the JVM of a Container in a user namespace too, whose root is
	// NamespaceRoot here; User is then one inside.
	UserNamespace bool
	// Capabilities are those of a JVM of root in a Container, as setpriv(1) takes them; empty
	// for all.
	Capabilities string
	// GroupsHidden leaves no control group visible in a Container.
	GroupsHidden bool
	// Privileges are further arguments of setpriv(1) for another User of a Container.
	Privileges []string
	// Launcher is the name of a copy of java that starts the JVM.
	Launcher string
	// LauncherMode is the mode of that copy; 0 for 0755.
	LauncherMode fs.FileMode
	// Group is the control group to start in; nil for that of the test.
	Group ControlGroup
	// Dir is the working directory; empty for the test's.
	Dir string
	// Unready returns without waiting for main to run.
	Unready bool
}

// Process is a process started by a test.
type Process struct {
	// PID is the process ID in the sandbox.
	PID int

	t      *testing.T
	stdin  io.Writer
	output buffer
	ended  chan struct{}
}

// Start starts a JVM that is killed at the end of the test.
func (j JDK) Start(t *testing.T, o Options) *Process {
	t.Helper()
	app := jar(t, "app.jar")
	java := filepath.Join(j.Home, "bin/java")
	if o.Launcher != "" {
		java = j.launcher(t, o.Launcher, cmp.Or(o.LauncherMode, 0o755))
	}
	// Java 8 does not know the option that suppresses the agent warning of later
	// versions.
	args := append([]string{java, "-XX:+IgnoreUnrecognizedVMOptions", "-Xmx32m", "-XX:TieredStopAtLevel=1"}, o.Args...)
	args = append(args, "-cp", app, "App")
	if o.Container && o.User != 0 {
		user := fmt.Sprint(o.User)
		args = slices.Concat([]string{setpriv, "--reuid", user, "--regid", user, "--clear-groups"}, o.Privileges, args)
	}
	if o.Capabilities != "" {
		args = append([]string{setpriv, "--bounding-set=" + o.Capabilities}, args...)
	}
	if o.Group != nil && !o.Container {
		args = append([]string{"/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, o.Group.procs()}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = os.Environ()
	if o.Container {
		cmd = reexec(container, filepath.Dir(app), args...)
	}
	if o.User != 0 && !o.Container {
		As(t, o.User, cmd)
	}
	if o.GroupsHidden {
		cmd.Env = append(cmd.Env, hidden+"=1")
	}
	if o.UserNamespace {
		inUserNamespace(t, cmd)
	}
	cmd.Dir = o.Dir
	cmd.Env = append(cmd.Env, o.Env...)
	p := Run(t, cmd)
	if o.Group != nil && o.Container { // whose root may not enter a group, or see any
		if err := os.WriteFile(o.Group.procs(), fmt.Append(nil, p.PID), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !o.Unready {
		p.AwaitOutput("ready\n")
	}
	return p
}

const (
	// NamespaceRoot is the user and group who are root in a user namespace.
	NamespaceRoot = 200_000
	// setpriv changes credentials; exec needs its path.
	setpriv = "/usr/bin/setpriv"
)

// inUserNamespace makes a command start in a user namespace.
func inUserNamespace(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	NeedUsers(t)
	mapping := []syscall.SysProcIDMap{{ContainerID: 0, HostID: NamespaceRoot, Size: 65536}}
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings, cmd.SysProcAttr.GidMappingsEnableSetgroups = mapping, mapping, true
	cmd.SysProcAttr.Credential = &syscall.Credential{}
}

// Run starts a command that is killed at the end of the test.
func Run(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.PID = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // the exit state is part of the output
		fmt.Fprintf(&p.output, "[%s]\n", cmd.ProcessState)
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited
		<-p.ended
	})
	return p
}

// Tell sends a command to the application and waits until it is done.
func (p *Process) Tell(line string) {
	p.t.Helper()
	seen := strings.Count(p.Output(), line+" done\n")
	p.Write(line + "\n")
	p.Await(fmt.Sprintf("%q is done", line), func() bool { return strings.Count(p.Output(), line+" done\n") > seen })
}

// Write writes to the standard input of the process, which stays open.
func (p *Process) Write(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, text); err != nil {
		p.t.Fatalf("the process is gone: %v\n%s", err, p.Output())
	}
}

// Output returns what the process has written to either stream so far.
func (p *Process) Output() string { return p.output.String() }

// AwaitOutput waits until the process has written a text.
func (p *Process) AwaitOutput(text string) {
	p.t.Helper()
	p.Await(fmt.Sprintf("the output has %q", text), func() bool { return strings.Contains(p.Output(), text) })
}

// Await waits for a condition. It fails the test if the process exits, or after a minute.
func (p *Process) Await(what string, condition func() bool) {
	p.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-p.ended:
			p.t.Fatalf("until %s: the process ended:\n%s", what, p.Output())
		case <-deadline.C:
			p.t.Fatalf("until %s: not within a minute:\n%s", what, p.Output())
		case <-ticker.C:
		}
	}
}

// Unharmed fails the test unless the application still responds, and its output contains
// only what it wrote itself.
func (p *Process) Unharmed() {
	p.t.Helper()
	p.Tell("ping")
	for line := range strings.Lines(p.Output()) {
		own := line == "ready\n" || strings.HasSuffix(line, " done\n")
		picked := strings.HasPrefix(line, "Picked up ") || strings.HasPrefix(line, "NOTE: Picked up ")
		if !own && !picked {
			p.t.Fatalf("the application's output was touched:\n%s", p.Output())
		}
	}
}

// Stop kills the process and waits for its exit.
func (p *Process) Stop() {
	p.t.Helper()
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// buffer is a bytes.Buffer that is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

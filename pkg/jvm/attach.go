//go:build linux

package jvm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Refusal says why the JVM cannot be attached to now, without having tried, or
// nil if nothing speaks against it. It neither signals nor connects. Only
// JVMStarting passes by itself.
func (p Process) Refusal() *Error {
	switch {
	case p.unreadable != nil:
		return p.unreadable
	case p.Implementation != HotSpot:
		return errorf(UnsupportedJVM, "The JVM is %s; agents can be loaded into HotSpot only.", p.Implementation)
	case p.Flags.AttachDisabled:
		return errorf(AttachDisabled, "The JVM runs with -XX:+DisableAttachMechanism.")
	case p.Flags.AgentLoading == Off:
		return errorf(AgentLoadingDisabled, "The JVM does not load agents while it runs (-XX:-EnableDynamicAgentLoading).")
	case !p.initialized():
		return errorf(JVMStarting, "The JVM is still starting.")
	case p.HasSocket():
		return nil
	case !p.tmpWritable():
		return errorf(TmpNotWritable, "The JVM's user %d cannot write to /tmp, where HotSpot opens its attach socket; mount an emptyDir at /tmp.", p.UID)
	case p.CatchesQuit:
		return nil
	case p.Flags.SignalsReduced && p.age() > listenerStart:
		return errorf(SignalsReduced, "The JVM runs with -Xrs, so SIGQUIT would kill it, and its attach socket /tmp/%s is gone; restart it, and exclude that file from what cleans /tmp.", p.socketName())
	default:
		return errorf(JVMStarting, "The JVM does not catch SIGQUIT, so it does not accept attachers.")
	}
}

const (
	// startup is how long a JVM may take to start its threads.
	startup = 30 * time.Second
	// listenerStart is how long one with -Xrs may take to open its socket.
	listenerStart = 2 * time.Second
)

// initialized tells whether the virtual machine is in its live phase, in which
// agents may be loaded. HotSpot starts to catch SIGQUIT before that, with -Xrs it
// even opens its socket, and an agent that is loaded then is an error in the
// best case; JDK 21 crashes (JvmtiAgent::load; 24 and later refuse). What can be
// seen from outside is the first thread that Threads::create_vm starts after the
// live phase began: the notification thread since JDK 14, before that the one of
// periodic tasks, which JDK 21 starts earlier. A JVM without either is believed
// once it is old.
func (p Process) initialized() bool {
	sign := "Notification Th" // names of threads are cut at 15 characters
	if major := Major(p.Version); major > 0 && major < 14 {
		sign = "VM Periodic Tas"
	}
	tasks, err := os.ReadDir(procPath(p.PID, "task"))
	if err != nil {
		return false
	}
	for _, task := range tasks {
		comm, err := readProc(p.PID, "task/"+task.Name()+"/comm")
		if err == nil && strings.TrimSuffix(string(comm), "\n") == sign {
			return true
		}
	}
	return p.age() > startup
}

// age is how long the JVM has been running, by the clock that StartTime is of.
func (p Process) age() time.Duration {
	const (
		clockBoottime = 7                     // clock_gettime(2)
		tick          = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go runs on
	)
	var now syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(p.StartTime)*tick
}

// HasSocket tells whether the file of the attach socket is there, so that
// Property can be asked without Attach. It may be stale.
func (p Process) HasSocket() bool {
	tmp, err := p.OpenTmp()
	if err != nil {
		return false
	}
	defer tmp.Close()
	info, err := tmp.Lstat(p.socketName())
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

// tmpWritable tells whether the JVM's user may create files in its /tmp.
func (p Process) tmpWritable() bool {
	return As(p.UID, p.GID, func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		dir, err := tmp.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		const writeAndSearch = 2 | 1
		return syscall.Access(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), writeAndSearch)
	}) == nil
}

// Attach makes sure that the JVM's attach listener runs, and waits for it until
// ctx is done, for a JVM that is just starting too. It is the
// only function that signals the JVM, at most once.
func (p Process) Attach(ctx context.Context) error {
	if err := p.awaitReady(ctx); err != nil {
		return err
	}
	if err := p.ping(); !errors.Is(err, errNotListening) {
		return err
	}
	if p.listens() && !restartsListener(p.Version) {
		return errorf(AttachFailed, "The attach socket /tmp/%s was deleted, and Java %s cannot open it again; restart the JVM, and exclude that file from what cleans /tmp.", p.socketName(), p.Version)
	}
	withdraw, err := p.announce()
	if err != nil {
		return err
	}
	defer withdraw()
	if err := p.signal(); err != nil {
		return err
	}
	for {
		if err := p.ping(); !errors.Is(err, errNotListening) {
			return err
		}
		if !pause(ctx) {
			return errorf(AttachTimeout, "The JVM did not open its attach socket in time; it may be paused or starved of CPU.")
		}
	}
}

// ping connects, and asks nothing.
func (p Process) ping() error {
	conn, err := p.connect()
	if err != nil {
		return err
	}
	return conn.Close()
}

// pause waits for a millisecond: HotSpot opens its socket within two or three.
// It returns false when ctx is done.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}

// awaitReady returns nil once nothing speaks against attaching.
func (p *Process) awaitReady(ctx context.Context) error {
	for {
		refusal := p.Refusal()
		if refusal == nil {
			return nil
		}
		if refusal.Kind != JVMStarting || !pause(ctx) {
			return refusal
		}
		if err := p.verify(); err != nil {
			return err
		}
		if err := p.readStatus(); err != nil {
			return err
		}
	}
}

// restartsListener tells whether a HotSpot opens its socket again after the file
// was deleted, instead of printing its stacks (JDK-8225690 with JDK-8235211, in
// JDK 14 and back in 11.0.13 and 8u342).
func restartsListener(version string) bool {
	switch major, update := releaseNumbers(version); major {
	case 8:
		return update >= 342
	case 11:
		return update >= 13
	default:
		return major >= 14
	}
}

// announce creates .attach_pid<pid>, by which HotSpot tells an attacher's SIGQUIT
// from a person's, and returns what removes it again. HotSpot looks in its
// working directory first, then in /tmp, and wants it to be its user's. /tmp it
// is, since the socket needs that anyway, and the working directory is the
// application's.
func (p Process) announce() (withdraw func(), err error) {
	name := fmt.Sprintf(".attach_pid%d", p.NamespacePID)
	tmp, err := p.OpenTmp()
	if err != nil {
		return nil, err
	}
	withdraw = func() {}
	err = As(p.UID, p.GID, func() error {
		if cwd, err := p.openRoot("cwd"); err == nil {
			defer cwd.Close()
			if info, err := cwd.Lstat(name); err == nil && !p.owns(info) {
				return errorf(AttachFailed, "%s in the JVM's working directory belongs to somebody else; HotSpot would not start its attach listener.", name)
			}
		}
		f, err := tmp.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			withdraw = func() { _ = As(p.UID, p.GID, func() error { return tmp.Remove(name) }) }
			return f.Close()
		}
		if info, err := tmp.Lstat(name); err == nil && p.owns(info) { // another attacher's
			return nil
		}
		return errorf(AttachFailed, "/tmp/%s cannot be created: %v.", name, err)
	})
	if err != nil {
		tmp.Close()
		return nil, err
	}
	remove := withdraw
	return func() { remove(); tmp.Close() }, nil
}

// owns tells whether a file belongs to the JVM's user, or to root, whom HotSpot
// trusts too since JDK 9.
func (p Process) owns(info fs.FileInfo) bool {
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	return info.Mode().IsRegular() && (uid == p.UID || uid == 0 && Major(p.Version) != 8)
}

// signal sends SIGQUIT, after a last look at whom it will meet. The handle is
// opened before that look, and is a pidfd (pidfd_open(2), Linux 5.3): should the
// process exit in between, the signal goes nowhere.
func (p Process) signal() error {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return err
	}
	defer handle.Release()
	now, err := look(p.PID)
	if err != nil {
		return err
	}
	switch {
	case now.StartTime != p.StartTime:
		return errorf(ProcessGone, "Process %d is another one now.", p.PID)
	case now.UID != p.UID || now.GID != p.GID:
		return errorf(JVMStarting, "The JVM changed its user from %d to %d.", p.UID, now.UID)
	case now.Implementation != HotSpot || !now.CatchesQuit || now.Flags.AttachDisabled:
		return errorf(JVMStarting, "Process %d does not accept attachers any more.", p.PID)
	}
	err = As(p.UID, p.GID, func() error {
		if err := p.ping(); !errors.Is(err, errNotListening) {
			return err // listening already: SIGQUIT would print all stacks
		}
		return handle.Signal(syscall.SIGQUIT)
	})
	if errors.Is(err, os.ErrProcessDone) {
		return errorf(ProcessGone, "Process %d has exited.", p.PID)
	}
	return err
}

// Property reads one system property of the JVM, which must be listening: it
// never signals. The others do not leave this function.
func (p Process) Property(ctx context.Context, name string) (value string, found bool, err error) {
	code, text, err := p.execute(ctx, "properties")
	if err != nil {
		return "", false, asError(err)
	}
	if code != 0 {
		return "", false, errorf(AttachFailed, "The JVM answered %d to the question for its properties.", code)
	}
	value, found = parseProperties(text)[name]
	return value, found, nil
}

// LoadAgent has the JVM, which must be listening, load a Java agent and waits for
// its agentmain to return. Both jar, a path as the JVM sees it, and options are
// limited to 1022 bytes together. Nil means that agentmain returned; an error
// of Kind AttachTimeout that nobody knows.
func (p Process) LoadAgent(ctx context.Context, jar, options string) error {
	const absolutePath = "false" // of "instrument": the library lies in java.home
	code, text, err := p.execute(ctx, "load", "instrument", absolutePath, jar+"="+options)
	if err != nil {
		return asError(err)
	}
	if err := decodeLoad(code, text); err != nil {
		return err
	}
	return nil
}

// asError gives every error a Kind.
func asError(err error) error {
	var typed *Error
	if errors.As(err, &typed) {
		return typed
	}
	return errorf(AttachFailed, "%v.", err)
}

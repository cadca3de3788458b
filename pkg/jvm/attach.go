//go:build linux

package jvm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Attach ensures that the JVM's attach listener is running. It waits for the listener,
// also of a JVM that is still starting, at most until ctx is done. It is the only
// function that signals the JVM, and it does so at most once. It calls before right before
// that, and returns its error instead.
func (p Process) Attach(ctx context.Context, before ...func() error) error {
	if err := p.awaitReady(ctx); err != nil {
		return err
	}
	if err := p.ping(); !errors.Is(err, errNotListening) {
		if err == nil {
			p.withdraw() // left over from an earlier Attach
		}
		return err
	}
	if p.listens() && !restartsListener(p.Version) {
		return errorf(AttachFailed, "The attach socket /tmp/%s was deleted, and Java %s cannot open it again; restart the JVM, and exclude that file from what cleans /tmp.", p.socketName(), p.Version)
	}
	if refusal := p.signalRefusal(); refusal != nil { // the socket file, if any, belongs to a former JVM
		return refusal
	}
	return p.trigger(ctx, before)
}

// trigger makes the JVM start its attach listener: it announces an attacher and sends
// SIGQUIT.
//
// A SIGQUIT without an announcement makes the JVM print all its stacks, so once the
// signal is sent, the announcement stays until the socket exists. A JVM that is paused
// beyond ctx opens the socket later, and the next Attach finds it. A JVM that never opens
// it has printed its stacks, or will: it gets no second SIGQUIT.
func (p Process) trigger(ctx context.Context, before []func() error) error {
	other, err := p.announce()
	if err != nil {
		return err
	}
	if other { // a SIGQUIT is pending or had no effect; a second one could make the JVM print its stacks
		return p.awaitSocket(ctx)
	}
	if err = p.signal(ctx, before...); err != nil {
		p.withdraw()
		return err
	}
	if err := p.awaitSocket(ctx); err != nil {
		return err
	}
	p.withdraw()
	return nil
}

// awaitSocket waits until the JVM listens on its attach socket.
func (p Process) awaitSocket(ctx context.Context) error {
	var poll poll
	for {
		if err := p.ping(); !errors.Is(err, errNotListening) {
			return err
		}
		if !poll.wait(ctx) {
			return errorf(AttachTimeout, "The JVM did not open its attach socket in time; it may be paused or starved of CPU. It is sent SIGQUIT once only: if it never opens it, run jcmd on it, or restart it.")
		}
	}
}

// ping connects to the attach socket without sending a command.
func (p Process) ping() error {
	conn, err := p.connect()
	if err != nil {
		return err
	}
	return conn.Close()
}

// awaitReady waits until nothing prevents attaching, or returns the refusal.
func (p *Process) awaitReady(ctx context.Context) error {
	var poll poll
	for {
		refusal := p.Refusal()
		if refusal == nil {
			return nil
		}
		if refusal.Kind != JVMStarting || !poll.wait(ctx) {
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

// restartsListener reports whether HotSpot reopens its socket after the file was deleted,
// instead of printing its stacks (JDK-8225690 with JDK-8235211, in JDK 14, backported to
// 11.0.13 and 8u342).
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

// pending is how long a SIGQUIT may take to have an effect: while the JVM's threads reach
// a safepoint, or while it is paused. After that, the announcer is assumed to have died
// before sending the signal.
const pending = 5 * time.Minute

// announce creates .attach_pid<pid>, by which HotSpot distinguishes an attacher's SIGQUIT
// from a person's. It reports whether another announcement is in effect: a recent one of
// another attacher, or one of any age that notes that this JVM was sent SIGQUIT. It takes
// over any other one: an older one, or one for a former JVM with this PID.
//
// HotSpot looks in its working directory first, then in /tmp, and requires the file to be
// owned by the JVM's user. The file is created in /tmp, which the socket needs anyway;
// the working directory belongs to the application.
func (p Process) announce() (other bool, err error) {
	name := p.announcement()
	err = p.As(func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		if cwd, err := p.openRoot("cwd"); err == nil {
			defer cwd.Close()
			if info, err := cwd.Lstat(name); err == nil && !p.owns(info) {
				return errorf(AttachFailed, "%s in the JVM's working directory belongs to somebody else; HotSpot would not start its attach listener.", name)
			}
		}
		f, err := tmp.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return f.Close()
		}
		if info, err := tmp.Lstat(name); err == nil && p.owns(info) {
			now := time.Now()
			if other = p.wasSignaled(tmp) || now.Sub(info.ModTime()) < min(ageOf(p.StartTime), pending); other {
				return nil
			}
			return tmp.Chtimes(name, now, now)
		}
		return errorf(AttachFailed, "/tmp/%s cannot be created: %v.", name, err)
	})
	return other, err
}

// note records in the announcement that this JVM is sent SIGQUIT. It is called before the
// signal: a helper that dies in between has sent none, and none is better than two. It
// appends a line, because JVMs that share a /tmp may have the same PID.
func (p Process) note() error {
	tmp, err := p.OpenTmp()
	if err != nil {
		return err
	}
	defer tmp.Close()
	f, err := tmp.OpenFile(p.announcement(), os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, p.StartTime)
	return err
}

// wasSignaled reports whether the announcement contains this JVM's note.
func (p Process) wasSignaled(tmp *os.Root) bool {
	noted, err := readRegular(tmp, p.announcement())
	return err == nil && slices.Contains(strings.Fields(noted), strconv.FormatUint(p.StartTime, 10))
}

// announcement returns the name of the announcement file in /tmp.
func (p Process) announcement() string { return fmt.Sprintf(".attach_pid%d", p.NamespacePID) }

// withdraw removes the announcement.
func (p Process) withdraw() {
	// A leftover is not an error: the next attacher takes an old announcement over.
	_ = p.As(func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		return tmp.Remove(p.announcement())
	})
}

// owns reports whether a file belongs to the JVM's user, or to root, which HotSpot also
// trusts since JDK 9.
func (p Process) owns(info fs.FileInfo) bool {
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	return info.Mode().IsRegular() && (uid == p.UID || uid == p.RootUID() && Major(p.Version) != 8)
}

// ageOf is age. A variable for a test.
var ageOf = age

// findProcess is os.FindProcess. A variable for a test.
var findProcess = os.FindProcess

// signal sends SIGQUIT after a last check of the process. The handle is opened before the
// check. It is a pidfd where available (os.Process: Linux 5.4, unless a seccomp filter
// blocks it), so that the signal is lost if the process exits in between; otherwise it is
// the PID, which on a node is refused: it may be one of any container then.
func (p Process) signal(ctx context.Context, before ...func() error) error {
	if ctx.Err() != nil {
		return errorf(AttachTimeout, "The attach timed out.")
	}
	handle, err := findProcess(p.PID)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }() // always returns nil
	if p.OnNode() && handle.WithHandle(func(uintptr) {}) != nil {
		return errorf(AttachFailed, "The node's kernel, or a seccomp filter, has no pidfd_open(2), so that SIGQUIT could reach a process of another container. Update the kernel to 5.4 or later, allow pidfd_open and pidfd_send_signal in the node agent's seccomp profile, or choose another transport than Node.")
	}
	now, err := look(p.PID, p.in)
	if err != nil {
		return err
	}
	switch {
	case now.StartTime != p.StartTime:
		return errorf(ProcessGone, "Process %d was replaced.", p.PID)
	case now.UID != p.UID || now.GID != p.GID:
		return errorf(JVMStarting, "The JVM changed its user from %d to %d.", p.UID, now.UID)
	case now.Implementation != HotSpot || !now.CatchesQuit || now.Flags.AttachDisabled || now.obscure != "":
		return errorf(JVMStarting, "Process %d no longer accepts attachers.", p.PID)
	}
	if refusal := p.TasksRefusal(); refusal != nil {
		return refusal
	}
	for _, allow := range before {
		if err := allow(); err != nil {
			return err
		}
	}
	err = p.As(func() error {
		if err := p.ping(); !errors.Is(err, errNotListening) {
			return err // already listening: SIGQUIT would print all stacks
		}
		if err := p.note(); err != nil {
			return err
		}
		return handle.Signal(syscall.SIGQUIT)
	})
	if errors.Is(err, os.ErrProcessDone) {
		return errorf(ProcessGone, "Process %d has exited.", p.PID)
	}
	return err
}

//go:build linux

package jvm

import (
	"context"
	"errors"
	"os"
	"syscall"
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
//
// An announcer that is killed before the signal keeps others waiting for as long as pending.
// So nothing that takes time is between the two.
func (p Process) trigger(ctx context.Context, before []func() error) error {
	other, err := p.announced()
	if err == nil && !other {
		if err = p.signal(ctx, before...); errors.Is(err, errAnnounced) {
			other, err = true, nil
		}
	}
	if err != nil {
		return err
	}
	if err := p.awaitSocket(ctx); err != nil || other {
		return err
	}
	p.withdraw()
	return nil
}

// errAnnounced means that another announcement is in effect: a SIGQUIT is pending or had no
// effect, and a second one could make the JVM print its stacks.
var errAnnounced = errors.New("another attacher is announced")

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
	err = p.As(func() error { return p.quit(handle) })
	if errors.Is(err, os.ErrProcessDone) {
		return errorf(ProcessGone, "Process %d has exited.", p.PID)
	}
	return err
}

// quit announces an attacher and sends SIGQUIT, unless the JVM listens already.
func (p Process) quit(handle *os.Process) error {
	other, err := p.announce()
	if err != nil {
		return err
	}
	if other {
		return errAnnounced
	}
	if err = p.ping(); !errors.Is(err, errNotListening) { // SIGQUIT would print all stacks
		p.withdraw()
		return err
	}
	if err = p.note(); err == nil {
		err = handle.Signal(syscall.SIGQUIT)
	}
	if err != nil {
		p.withdraw()
	}
	return err
}

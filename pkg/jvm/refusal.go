//go:build linux

package jvm

import (
	"io/fs"
	"syscall"
	"time"
)

// Refusal returns why the JVM cannot be attached to at present, or nil. It neither
// signals nor connects. JVMStarting and InsufficientThreads are transient.
func (p Process) Refusal() *Error {
	switch {
	case p.unreadable != nil:
		return p.unreadable
	case p.Implementation != HotSpot:
		return errorf(UnsupportedJVM, "The JVM is %s; agents can be loaded into HotSpot only. Start the exporter as a -javaagent there.", p.Implementation)
	case p.Flags.Epsilon:
		return errorf(UnsupportedJVM, "The JVM collects no garbage (-XX:+UseEpsilonGC), so each scrape would take a part of its heap for good. Start it with another collector.")
	case p.Flags.AttachDisabled:
		return errorf(AttachDisabled, "The JVM runs with -XX:+DisableAttachMechanism. Remove the option, or start the exporter as a -javaagent.")
	case p.Flags.AgentLoading == Off:
		return errorf(AgentLoadingDisabled, noAgentLoading)
	case !p.started():
		return errorf(JVMStarting, "The JVM has just started; the application is given %s and %s of CPU for its start, or %s.", startAge, startCPU, StartTimeout)
	}
	if _, live := p.live(); !live {
		return errorf(JVMStarting, "The JVM is still starting.")
	}
	if p.HasSocket() {
		return nil
	}
	return p.signalRefusal()
}

const noAgentLoading = "The JVM does not load agents while it runs (-XX:-EnableDynamicAgentLoading). Remove the option, or start the exporter as a -javaagent."

// signalRefusal returns why a started JVM must not be sent SIGQUIT, without which it does
// not open its attach socket. It concludes that nothing catches SIGQUIT only for a JVM
// known to be in its live phase: one that is frozen or starved during its start catches
// it later.
func (p Process) signalRefusal() *Error {
	since, live := p.live()
	late := live && since > listenerStart
	switch {
	case !p.tmpWritable():
		return errorf(TmpNotWritable, "The JVM's user %d cannot write to /tmp, where HotSpot opens its attach socket. %s", p.UID, MountTmp)
	case p.obscure != "" && live && !late:
		return errorf(JVMStarting, "The JVM has not opened its attach socket yet.")
	case p.obscure != "":
		return errorf(OptionsUnknown, "%s; with -XX:+DisableAttachMechanism, SIGQUIT would print all its stacks. Start it with -XX:+StartAttachListener, or run jcmd on it once, to have its attach socket opened.", p.obscure)
	case p.catchesQuit():
		return p.TasksRefusal()
	case p.Flags.SignalsReduced && late:
		return errorf(SignalsReduced, "The JVM runs with -Xrs, so SIGQUIT would kill it, and its attach socket /tmp/%s is gone; restart it, and exclude that file from what cleans /tmp.", p.socketName())
	case p.Flags.SignalsReduced || !live:
		return errorf(JVMStarting, "The JVM does not catch SIGQUIT, so it does not accept attachers yet.")
	default:
		return errorf(SignalsReduced, "The JVM does not catch SIGQUIT, which would kill it, and has no attach socket: something in it took the signal over. Find out what, or start it with -XX:+StartAttachListener, which needs no signal.")
	}
}

// listenerStart is how long a JVM in its live phase may take to open its socket on its
// own, with -Xrs or -XX:+StartAttachListener.
const listenerStart = 2 * time.Second

// catchesQuit reports whether the process caught SIGQUIT, or does now.
func (p Process) catchesQuit() bool {
	now := p
	return p.CatchesQuit || now.readStatus() == nil && now.CatchesQuit
}

// HasSocket reports whether the attach socket's file exists, so that Property can be
// called without Attach. The file may be stale.
func (p Process) HasSocket() bool {
	tmp, err := p.OpenTmp()
	if err != nil {
		return false
	}
	defer tmp.Close()
	info, err := tmp.Lstat(p.socketName())
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

// tmpWritable reports whether the JVM's user may create files in its /tmp.
func (p Process) tmpWritable() bool {
	return p.As(func() error {
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
		const writeAndSearch, effectiveIDs = 2 | 1, 0x200 // W_OK and X_OK, AT_EACCESS
		return syscall.Faccessat(int(dir.Fd()), ".", writeAndSearch, effectiveIDs)
	}) == nil
}

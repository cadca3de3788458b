//go:build linux

package jvm

import (
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
	default:
		return p.signalRefusal()
	}
}

// signalRefusal says why the JVM must not be sent SIGQUIT, without which it does
// not open its attach socket.
func (p Process) signalRefusal() *Error {
	switch {
	case !p.tmpWritable():
		return errorf(TmpNotWritable, "The JVM's user %d cannot write to /tmp, where HotSpot opens its attach socket; mount an emptyDir at /tmp.", p.UID)
	case p.obscure != "" && p.age() > listenerStart:
		return errorf(OptionsUnknown, "%s; with -XX:+DisableAttachMechanism, SIGQUIT would print all its stacks. Start it with -XX:+StartAttachListener, or run jcmd on it once, to have its attach socket opened.", p.obscure)
	case p.obscure != "":
		return errorf(JVMStarting, "The JVM has not opened its attach socket yet.")
	case p.CatchesQuit:
		return nil
	case p.Flags.SignalsReduced && p.age() > listenerStart:
		return errorf(SignalsReduced, "The JVM runs with -Xrs, so SIGQUIT would kill it, and its attach socket /tmp/%s is gone; restart it, and exclude that file from what cleans /tmp.", p.socketName())
	case p.age() > startup:
		return errorf(SignalsReduced, "The JVM does not catch SIGQUIT, which would kill it, and has no attach socket: something in it took the signal over. Find out what, or start it with -XX:+StartAttachListener, which needs no signal.")
	default:
		return errorf(JVMStarting, "The JVM does not catch SIGQUIT, so it does not accept attachers.")
	}
}

const (
	// startup is how long a JVM may take to start its threads.
	startup = 30 * time.Second
	// listenerStart is how long one with -Xrs or -XX:+StartAttachListener may take
	// to open its socket.
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

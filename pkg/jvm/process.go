//go:build linux

package jvm

// Implementation is the kind of a virtual machine.
type Implementation string

const (
	// HotSpot is OpenJDK's virtual machine, the only one that can be attached to.
	HotSpot Implementation = "HotSpot"
	// OpenJ9 has an attach protocol of its own, and answers SIGQUIT with a dump.
	OpenJ9 Implementation = "OpenJ9"
)

// Process is a Java process as it was when it was looked at. Its methods look
// anew, and answer with an Error of Kind ProcessGone when PID has meanwhile
// become another process.
type Process struct {
	// PID is the process ID as this process sees it.
	PID int
	// NamespacePID is the process ID as the JVM itself sees it: another one if
	// the JVM runs in a container and this process does not.
	NamespacePID int
	// StartTime is in clock ticks since boot: field 22 of proc_pid_stat(5).
	StartTime uint64
	// UID and GID are the effective ones, in this process' user namespace.
	UID, GID int
	// Implementation is empty if this process may not look: see Refusal.
	Implementation Implementation
	// Vendor and Version are from the runtime's release file, if it has one;
	// without it, 8 is known by its layout, as 1.8.
	Vendor, Version string
	// MainClass is the main class, or the name of the jar or module run.
	MainClass string
	// Flags are the options that matter to an attacher.
	Flags Flags
	// JavaAgents are the Java agents that it was started with, in their order.
	JavaAgents []JavaAgent
	// Debugger reports that it was started with HotSpot's debugger agent (JDWP),
	// which complains on the application's output of whoever connects to its
	// port and is no debugger.
	Debugger bool
	// CatchesQuit reports that the process caught SIGQUIT.
	CatchesQuit bool

	unreadable *Error
	// obscure says why Flags may be others; empty if they are what the JVM was
	// started with.
	obscure string
}

func (p Process) isJava() bool { return p.Implementation != "" || p.unreadable != nil }

// verify reports that PID still is the process that was looked at.
func (p Process) verify() error {
	start, err := StartTime(p.PID)
	if err == nil && start != p.StartTime {
		err = errorf(ProcessGone, "Process %d was replaced.", p.PID)
	}
	return err
}

// Arguments are the arguments of the process' command line, the program's name
// aside: the JVM's options and the application's arguments as they were given, so
// without what @argfiles and the environment add. They may hold secrets; the
// caller keeps them.
func (p Process) Arguments() ([]string, error) {
	data, err := readProc(p.PID, "cmdline")
	if gone := p.verify(); gone != nil {
		return nil, gone
	}
	argv := splitNul(data)
	if err != nil || len(argv) == 0 {
		return nil, err
	}
	return argv[1:], nil
}

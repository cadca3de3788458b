//go:build linux

package jvm

// Implementation is the VM's implementation.
type Implementation string

const (
	// HotSpot is OpenJDK's VM, the only one that can be attached to.
	HotSpot Implementation = "HotSpot"
	// OpenJ9 has its own attach protocol, and answers SIGQUIT with a dump.
	OpenJ9 Implementation = "OpenJ9"
)

// Process is a snapshot of a Java process. Its methods read current state, and return an
// Error of Kind ProcessGone if PID is another process now.
type Process struct {
	// PID is the process ID as this process sees it.
	PID int
	// NamespacePID is the process ID as the JVM itself sees it. It differs from PID if
	// the JVM runs in a container and this process does not.
	NamespacePID int
	// StartTime is in clock ticks since boot: field 22 of proc_pid_stat(5).
	StartTime uint64
	// UID and GID are the effective IDs, in this process' user namespace.
	UID, GID int
	// Implementation is empty if this process may not inspect the JVM: see Refusal.
	Implementation Implementation
	// Vendor and Version are from the runtime's release file, if there is one. Without
	// it, Java 8 is recognized by its directory layout, as 1.8.
	Vendor, Version string
	// MainClass is the main class, or the name of the jar or module.
	MainClass string
	// Flags are the options that affect attaching.
	Flags Flags
	// JavaOptions is what its environment has of JDK_JAVA_OPTIONS.
	JavaOptions JavaOptions
	// JavaAgents are the -javaagent options, in order.
	JavaAgents []JavaAgent
	// Debugger reports that the JVM was started with HotSpot's debugger agent (JDWP),
	// which prints an error on the application's output if a client on its port does not
	// speak JDWP.
	Debugger bool
	// CatchesQuit reports whether the process caught SIGQUIT.
	CatchesQuit bool

	unreadable *Error
	// obscure states why Flags may be wrong; empty if they are known to be those that the
	// JVM was started with.
	obscure string

	// nspids are the process IDs from this process' namespace to the JVM's.
	nspids []int
	// in is the container of a node that the process was found in, and pidIn its ID there.
	in    Container
	pidIn int
}

func (p Process) isJava() bool { return p.Implementation != "" || p.unreadable != nil }

// verify returns an error unless PID is still the same process.
func (p Process) verify() error {
	start, err := StartTime(p.PID)
	if err == nil && start != p.StartTime {
		err = errorf(ProcessGone, "Process %d was replaced.", p.PID)
	}
	return err
}

func (p *Process) readStatus() error {
	data, err := readProc(p.PID, "status")
	if err != nil {
		return errorf(ProcessGone, "Process %d has exited.", p.PID)
	}
	s, err := parseStatus(data)
	if err != nil {
		return err
	}
	p.UID, p.GID, p.nspids = s.uid, s.gid, s.nspids
	p.NamespacePID = s.nspids[len(s.nspids)-1]
	p.CatchesQuit = s.caught&sigquit != 0
	return nil
}

// Arguments returns the arguments of the process' command line without the program's
// name: the JVM's options and the application's arguments as given, without the contents
// of @argfiles and the environment. They may contain secrets; the caller must not
// disclose them.
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

// PIDIn returns the process ID as the container sees it, for a process that a container
// found, otherwise PID.
func (p Process) PIDIn() int {
	if p.pidIn != 0 {
		return p.pidIn
	}
	return p.PID
}

// OnNode reports whether the process was found in a container that InPod made.
func (p Process) OnNode() bool { return p.in.OnNode() }

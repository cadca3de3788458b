//go:build linux

package jvm

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"
)

// Find returns the Java processes in /proc by ascending PID. It includes processes that
// may not be inspected if their command is java, and those that could only be read in
// part, whatever their command: their Refusal states the cause.
func Find() ([]Process, error) {
	pids, err := processIDs()
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, pid := range pids {
		if p, err := look(pid, ""); err == nil && p.isJava() {
			found = append(found, p)
		}
	}
	return found, nil
}

// processIDs returns the IDs of all processes except this one, ascending.
func processIDs() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Lookup returns the Java process with this PID and start time. It returns an Error of
// Kind ProcessGone if there is no such process, and of Kind UnsupportedJVM if it is not a
// Java process.
func Lookup(pid int, startTime uint64) (Process, error) { return lookup(pid, startTime, "") }

func lookup(pid int, startTime uint64, in Container) (Process, error) {
	p, err := look(pid, in)
	if err != nil {
		return p, err
	}
	if p.StartTime != startTime {
		return p, errorf(ProcessGone, "Process %d was replaced: it started at %d, not at %d.", pid, p.StartTime, startTime)
	}
	if !p.isJava() {
		return p, errorf(UnsupportedJVM, "Process %d has no Java virtual machine in it.", pid)
	}
	return p, nil
}

// look reads what /proc shows of a process of the container, whether or not it is a JVM.
func look(pid int, in Container) (Process, error) {
	p := Process{PID: pid, in: in}
	var err error
	if p.StartTime, err = StartTime(pid); err != nil {
		return p, err
	}
	if err := p.readStatus(); err != nil {
		return p, err
	}
	data, err := readProc(pid, "cmdline") // readable by all users; empty for kernel threads
	if err != nil {
		return p, err
	}
	argv := splitNul(data)
	if len(argv) == 0 {
		return p, nil
	}
	err = p.As(func() error {
		var library string
		var err error
		p.Implementation, library, err = findLibrary(pid)
		if errors.Is(err, errMapsTooLong) {
			return errorf(AttachFailed, "It cannot be determined whether process %d runs a JVM: %v.", pid, err)
		}
		if err != nil && !p.dumpable() {
			return errorf(ProcessNotReadable, "The kernel does not show process %d, which runs as user %d, to that user: it is not dumpable (PR_SET_DUMPABLE in prctl(2)). Its program has capabilities of its own (setcap), or is not readable by the user, or it changed its user after its start. Start java without that, or start the exporter as a -javaagent.", pid, p.UID)
		}
		if err != nil {
			return errorf(UserMismatch, "The kernel does not let this process look into process %d, which runs as user %d, group %d; it takes the same user and group, and all of its capabilities (ptrace(2)).", pid, p.UID, p.GID)
		}
		if p.Implementation != "" {
			p.describe(library, argv)
		}
		return nil
	})
	// The process may have exited, or executed another program, while it was read.
	if err := p.verify(); err != nil {
		return p, err
	}
	if typed, ok := errors.AsType[*Error](err); ok && (typed.Kind == AttachFailed || path.Base(argv[0]) == java) {
		p.unreadable = typed
	}
	return p, nil
}

// dumpable reports whether the process shows what is in it to its user. The kernel gives
// the files of one that does not to root (task_dump_owner in fs/proc/base.c).
func (p Process) dumpable() bool {
	info, err := os.Stat(procPath(p.PID, "maps"))
	return err != nil || p.UID == 0 || int(info.Sys().(*syscall.Stat_t).Uid) == p.UID
}

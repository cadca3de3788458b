//go:build linux

package jvm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

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
	// Vendor and Version are from the runtime's release file, if it has one.
	Vendor, Version string
	// MainClass is the main class, or the name of the jar or module run.
	MainClass string
	// Flags are the options that matter to an attacher.
	Flags Flags
	// JavaAgents are the Java agents that it was started with, in their order.
	JavaAgents []JavaAgent
	// Debugger tells that it was started with HotSpot's debugger agent (JDWP),
	// which complains on the application's output of whoever connects to its
	// port and is no debugger.
	Debugger bool
	// CatchesQuit tells that the process caught SIGQUIT.
	CatchesQuit bool

	unreadable *Error
	// obscure says why Flags may be others; empty if they are what the JVM was
	// started with.
	obscure string
}

// Find lists the Java processes in /proc by ascending PID. A process that may
// not be looked into is listed if its command is called java.
func Find() ([]Process, error) {
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
	var found []Process
	for _, pid := range pids {
		if p, err := look(pid); err == nil && p.isJava() {
			found = append(found, p)
		}
	}
	return found, nil
}

// Lookup returns the Java process with this PID and start time. Its error is an
// Error of Kind ProcessGone if there is no such process, and of Kind
// UnsupportedJVM if it is no Java process.
func Lookup(pid int, startTime uint64) (Process, error) {
	p, err := look(pid)
	if err != nil {
		return p, err
	}
	if p.StartTime != startTime {
		return p, errorf(ProcessGone, "Process %d is another one now: it started at %d, not at %d.", pid, p.StartTime, startTime)
	}
	if !p.isJava() {
		return p, errorf(UnsupportedJVM, "Process %d has no Java virtual machine in it.", pid)
	}
	return p, nil
}

func (p Process) isJava() bool { return p.Implementation != "" || p.unreadable != nil }

// look reads what /proc tells of a process, whether or not it is a JVM.
func look(pid int) (Process, error) {
	p := Process{PID: pid}
	var err error
	if p.StartTime, err = StartTime(pid); err != nil {
		return p, err
	}
	if err := p.readStatus(); err != nil {
		return p, err
	}
	data, err := readProc(pid, "cmdline") // open to all, empty for kernel threads
	if err != nil {
		return p, err
	}
	argv := splitNul(data)
	if len(argv) == 0 {
		return p, nil
	}
	err = As(p.UID, p.GID, func() error {
		data, err := readProc(pid, "maps")
		if err != nil {
			return errorf(UserMismatch, "The kernel does not let this process look into process %d, which runs as user %d, group %d; it takes the same user and group, and all of its capabilities (ptrace(2)).", pid, p.UID, p.GID)
		}
		var library string
		if p.Implementation, library = parseMaps(data); p.Implementation != "" {
			p.describe(library, argv)
		}
		return nil
	})
	// The process may have exited, or run another program, while it was read.
	if err := p.verify(); err != nil {
		return p, err
	}
	if err != nil && path.Base(argv[0]) == java {
		errors.As(err, &p.unreadable)
	}
	return p, nil
}

// verify tells that PID still is the process that was looked at.
func (p Process) verify() error {
	start, err := StartTime(p.PID)
	if err == nil && start != p.StartTime {
		err = errorf(ProcessGone, "Process %d is another one now.", p.PID)
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
	p.UID, p.GID, p.NamespacePID = s.uid, s.gid, s.nspid
	p.CatchesQuit = s.caught&sigquit != 0
	return nil
}

// describe fills in what is only for people and for Refusal; what it cannot
// read stays empty. It runs as the JVM's user, since the JVM names the files.
func (p *Process) describe(library string, argv []string) {
	p.obscure = "The JVM's options cannot be read"
	root, err := p.openRoot("root")
	if err != nil {
		return
	}
	defer root.Close()
	// <home>/lib/server/libjvm.so, <home>/jre/lib/amd64/server/libjvm.so in JDK 8.
	for dir := path.Dir(library); len(dir) > 1 && p.Version == ""; dir = path.Dir(dir) {
		if text, err := readRegular(root, strings.TrimPrefix(path.Join(dir, "release"), "/")); err == nil {
			p.Vendor, p.Version = parseRelease(text)
		}
	}
	exe, err := os.Readlink(procPath(p.PID, "exe"))
	if err != nil {
		return
	}
	launcher := path.Base(strings.TrimSuffix(exe, " (deleted)"))
	environ, err := readProc(p.PID, "environ")
	if err != nil {
		return
	}
	command := parseCommandLine(launcher, argv, splitNul(environ), Major(p.Version), func(name string) (string, error) {
		if path.IsAbs(name) {
			return readRegular(root, strings.TrimPrefix(path.Clean(name), "/"))
		}
		cwd, err := p.openRoot("cwd")
		if err != nil {
			return "", err
		}
		defer cwd.Close()
		return readRegular(cwd, name)
	})
	p.MainClass, p.Flags = command.mainClass, command.flags
	p.JavaAgents, p.Debugger = command.agents, command.debugger
	switch {
	case launcher != java: // and gives its JVM what options it likes (JNI_CreateJavaVM)
		p.obscure = fmt.Sprintf("The JVM was started by %q, not by java, so its options cannot be known", launcher)
	case command.unread:
		p.obscure = "A file of options that the JVM was started with cannot be read any more"
	default:
		p.obscure = ""
	}
}

// openRoot opens a directory link of the process, root or cwd. Inside an
// os.Root, no symbolic link that the process made leads out of it.
func (p Process) openRoot(link string) (*os.Root, error) {
	return os.OpenRoot(procPath(p.PID, link))
}

// readRegular reads a regular file: a FIFO or device would block.
func readRegular(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	data, err := readBounded(f)
	return string(data), err
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

// OpenTmp opens /tmp as the JVM sees it, where HotSpot has its socket whatever
// TMPDIR says. The caller closes it. As long as it is open it stays that
// directory, also when the JVM exits.
func (p Process) OpenTmp() (*os.Root, error) {
	var tmp *os.Root
	err := As(p.UID, p.GID, func() error {
		if p.sharesFiles() { // where /tmp may be a link that does not leave our root
			var err error
			tmp, err = os.OpenRoot("/tmp")
			return err
		}
		root, err := p.openRoot("root")
		if err != nil {
			return err
		}
		defer root.Close()
		tmp, err = root.OpenRoot("tmp")
		return err
	})
	if err != nil {
		if gone := p.verify(); gone != nil {
			return nil, gone
		}
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		return nil, errorf(TmpNotWritable, "/tmp of process %d cannot be opened: %v.", p.PID, err)
	}
	return tmp, nil
}

// sharesFiles tells whether the process sees the same file system as we do.
func (p Process) sharesFiles() bool { return p.sameLink("ns/mnt") && p.sameFile("root") }

// InOtherContainer tells whether the process has another mount namespace than
// this one: where a pod shares its PID namespace, or its node's, the processes of
// other containers and pods are seen too. If this process may not look, what
// everybody may read decides: the control group.
func (p Process) InOtherContainer() bool {
	same := false
	err := As(p.UID, p.GID, func() error {
		_, err := os.Readlink(procPath(p.PID, "ns/mnt"))
		same = err == nil && p.sameLink("ns/mnt")
		return err
	})
	if err == nil {
		return !same
	}
	theirs, err := readProc(p.PID, "cgroup")
	if err != nil {
		return true
	}
	ours, err := readProc(os.Getpid(), "cgroup")
	return err != nil || !withinGroups(string(theirs), string(ours))
}

// withinGroups tells whether a process in the control groups given is in those
// of a container: in the same or below them, in every hierarchy (lines of
// hierarchy-ID:controllers:path, cgroups(7)). A path that leads out of ours
// begins with /.. (cgroup_namespaces(7)).
func withinGroups(process, container string) bool {
	for line := range strings.Lines(container) {
		group := strings.TrimSuffix(strings.TrimSpace(line), "/")
		if !slices.ContainsFunc(strings.Split(process, "\n"), func(line string) bool {
			below, found := strings.CutPrefix(strings.TrimSuffix(line, "/"), group)
			return found && (below == "" || below[0] == '/' && !strings.HasPrefix(below, "/.."))
		}) {
			return false
		}
	}
	return true
}

// SharesNetwork tells whether the process is in our network namespace, so that
// its ports can be reached on the loopback address.
func (p Process) SharesNetwork() bool {
	same := false
	_ = As(p.UID, p.GID, func() error { same = p.sameLink("ns/net"); return nil })
	return same
}

func (p Process) sameLink(name string) bool {
	theirs, err := os.Readlink(procPath(p.PID, name))
	if err != nil {
		return false
	}
	ours, err := os.Readlink(path.Join("/proc/self", name))
	return err == nil && ours == theirs
}

func (p Process) sameFile(name string) bool {
	theirs, err := os.Stat(procPath(p.PID, name))
	if err != nil {
		return false
	}
	ours, err := os.Stat(path.Join("/proc/self", name))
	return err == nil && os.SameFile(ours, theirs)
}

// OpenFiles lists the paths of the files that the process has open, as it sees
// them; those deleted since without the " (deleted)" that proc(5) adds.
func (p Process) OpenFiles() ([]string, error) {
	var names []string
	err := As(p.UID, p.GID, func() error {
		dir, err := os.Open(procPath(p.PID, "fd"))
		if err != nil {
			return err
		}
		defer dir.Close()
		for {
			fds, err := dir.Readdirnames(256)
			for _, fd := range fds {
				name, err := os.Readlink(procPath(p.PID, "fd/"+fd))
				if errors.Is(err, fs.ErrNotExist) { // closed meanwhile
					continue
				}
				if err != nil {
					return err
				}
				names = append(names, strings.TrimSuffix(name, " (deleted)"))
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if gone := p.verify(); gone != nil {
		return nil, gone
	}
	if err != nil {
		return nil, asError(err)
	}
	return names, nil
}

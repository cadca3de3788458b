// Package node finds what power over its node a container has, in what the kernel shows of
// its processes (proc(5)). The specification of its pod is not known there.
package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
	"banzaicloud.com/jmx-exporter-operator/pkg/pseudofs"
)

// Containers choose their number of mounts, up to 100 000 in each namespace (sysctl
// fs.mount-max); one has some dozens. The limits of what is read are in bytes.
const (
	// maxNode is for files of the node's process 1: a node has some mounts for each container,
	// of which each overlay takes up to 4 KiB.
	maxNode = 16 << 20
	maxFile = 1 << 20
	// maxMountinfo is for one mount namespace of a container, maxAllMountinfo for all.
	maxMountinfo    = 1 << 20
	maxAllMountinfo = 4 << 20
	// maxNamespaces limits the mount namespaces of one container that are looked at.
	maxNamespaces = 64
)

// ErrLimit is the error of Powers for a container with more mounts than a node agent looks at.
var ErrLimit = errors.New("its processes have more mounts than the node agent looks at: " + strconv.Itoa(maxMountinfo) +
	" bytes of /proc/<pid>/mountinfo in a mount namespace, and " + strconv.Itoa(maxAllMountinfo) + " in all of at most " + strconv.Itoa(maxNamespaces))

// errLong is that of a file with more bytes than are read.
var errLong = errors.New("too long")

// Proc is the directory where proc(5) is mounted.
type Proc string

// Powers returns the powers of processes, which are those of a container in the pod with the
// given UID. A process that has exited meanwhile has none. It is an error if the kernel does
// not show those of a process, or more mounts than a container needs. Process 1 is the node's.
//
// Among found may be the powers of a process that the runtime has enter the container, which
// it has for some milliseconds. All others are settled.
func (proc Proc) Powers(pids []int, podUID string) (settled, found []power.Found, err error) {
	node, err := proc.see(1)
	if err != nil {
		return nil, nil, err
	}
	all := powers{podUID: podUID, node: node, namespaces: map[string][]mount{}}
	if all.groups, err = proc.read(1, "cgroup", maxNode); err != nil {
		return nil, nil, err
	}
	mountinfo, err := proc.read(1, "mountinfo", maxNode)
	if err != nil {
		return nil, nil, err
	}
	all.mounts = index(parseMounts(mountinfo))
	for _, pid := range pids {
		if err := all.add(proc, pid); errors.Is(err, ErrLimit) || err != nil && proc.exists(pid) {
			return nil, nil, err
		}
	}
	found = all.found()
	every := len(all.processes)
	if all.processes = slices.DeleteFunc(all.processes, all.entering); len(all.processes) == every {
		return found, found, nil
	}
	return all.found(), found, nil
}

// powers are those of all processes of a container.
type powers struct {
	podUID string
	node   process
	groups string
	mounts mountTable

	// read is how many bytes of mountinfo were read.
	read int

	processes  []process
	namespaces map[string][]mount // of these processes
}

// process is what makes the powers of one process.
type process struct {
	pid, network, ipc, user, mount string // the namespaces
	capabilities                   uint64 // those that it has or may get
}

// see reads a process: first what a process that enters a container changes last, so that one
// that does not seem to enter has the namespaces of the container.
func (proc Proc) see(pid int) (p process, err error) {
	status, err := proc.read(pid, "status", maxFile)
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != "CapBnd" && name != "CapPrm" {
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return p, fmt.Errorf("%s of process %d: %w", name, pid, err)
		}
		p.capabilities |= mask
	}
	for _, ns := range []struct {
		name string
		to   *string
	}{{"mnt", &p.mount}, {"pid", &p.pid}, {"net", &p.network}, {"ipc", &p.ipc}, {"user", &p.user}} {
		if *ns.to, err = os.Readlink(proc.path(pid, "ns/"+ns.name)); err != nil {
			return p, err
		}
	}
	return p, nil
}

// add adds a process.
func (all *powers) add(proc Proc, pid int) error {
	pid = proc.thread(pid)
	p, err := proc.see(pid)
	if err != nil {
		return err
	}
	if _, known := all.namespaces[p.mount]; !known {
		if len(all.namespaces) == maxNamespaces {
			return ErrLimit
		}
		mountinfo, err := proc.read(pid, "mountinfo", min(maxMountinfo, maxAllMountinfo-all.read))
		if errors.Is(err, errLong) {
			return ErrLimit
		}
		if err != nil {
			return err
		}
		all.read += len(mountinfo)
		all.namespaces[p.mount] = parseMounts(mountinfo)
	}
	all.processes = append(all.processes, p)
	return nil
}

// everything reports whether a process has all capabilities that there are on the node.
func (all *powers) everything(p process) bool {
	return p.capabilities&all.node.capabilities == all.node.capabilities
}

// privileged reports whether a process is that of a privileged container. What it may do in a
// user namespace ends there.
func (all *powers) privileged(p process) bool {
	return p.user == all.node.user && all.everything(p) && slices.ContainsFunc(all.namespaces[p.mount], writableSys)
}

// entering reports whether a process may be one that the runtime has enter the container: it
// joins the mount namespace last of all (jvm.Entering), and gives up capabilities only then. It
// is in the container's files by then, where /sys is read-only unless it is privileged.
func (all *powers) entering(p process) bool {
	return p.mount == all.node.mount || all.everything(p) && !all.privileged(p)
}

// writableSys reports whether a mount is /sys as runtimes mount it for privileged containers
// only.
func writableSys(m mount) bool { return m.kind == "sysfs" && m.point == "/sys" && !m.readOnly }

// found returns the powers in the order of the table. What one process has counts for all: they
// reach each other. A privileged container has all capabilities, which are not listed, as they
// are not in its specification.
func (all *powers) found() []power.Found {
	one := func(has bool) []string {
		if has {
			return []string{""}
		}
		return nil
	}
	in, capabilities := mounted{podUID: all.podUID, groups: all.groups}, uint64(0)
	var mounts []mount
	added := map[string]bool{} // by namespace
	for _, p := range all.processes {
		in.sharesPID = in.sharesPID || p.pid == all.node.pid
		in.sharesNetwork = in.sharesNetwork || p.network == all.node.network
		in.sharesIPC = in.sharesIPC || p.ipc == all.node.ipc
		in.privileged = in.privileged || all.privileged(p)
		if p.user == all.node.user {
			capabilities |= p.capabilities
		}
		if !added[p.mount] {
			added[p.mount] = true
			mounts = append(mounts, all.namespaces[p.mount]...)
		}
	}
	var names []string
	if !in.privileged {
		names = power.PowerfulIn(capabilities)
	}
	return []power.Found{
		{Power: power.HostPID, Values: one(in.sharesPID)},
		{Power: power.HostNetwork, Values: one(in.sharesNetwork)},
		{Power: power.HostIPC, Values: one(in.sharesIPC)},
		{Power: power.Privileged, Values: one(in.privileged)},
		{Power: power.Capabilities, Values: names},
		{Power: power.HostPaths, Values: in.hostPaths(mounts, all.mounts)},
	}
}

// PIDNamespace returns what identifies the PID namespace of a process.
func (proc Proc) PIDNamespace(pid int) (string, error) {
	return os.Readlink(proc.path(proc.thread(pid), "ns/pid"))
}

// thread returns the ID of a thread of a process, by which proc(5) shows it, too, that has
// namespaces: the first one may have ended.
func (proc Proc) thread(pid int) int {
	if _, err := os.Readlink(proc.path(pid, "ns/mnt")); err == nil {
		return pid
	}
	threads, _ := os.ReadDir(proc.path(pid, "task")) // none: the process is judged as it is
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if _, err := os.Readlink(proc.path(id, "ns/mnt")); err == nil {
			return id
		}
	}
	return pid
}

// exists reports whether a process runs, and is no zombie, which has no namespaces any more:
// its first thread may be one while others run.
func (proc Proc) exists(pid int) bool {
	const state, threads = 0, 17 // fields after the name (proc_pid_stat(5))
	stat, err := proc.read(pid, "stat", maxFile)
	if err != nil {
		return !gone(err)
	}
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) <= threads {
		return true
	}
	return fields[state] != "X" && (fields[state] != "Z" || fields[threads] != "1" && fields[threads] != "0")
}

// gone reports whether an error is that of a file of a process that has exited: before the file
// was opened, or after.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

func (proc Proc) path(pid int, name string) string {
	return filepath.Join(string(proc), strconv.Itoa(pid), name)
}

// read reads a file of a process, of at most limit bytes.
func (proc Proc) read(pid int, name string, limit int) (string, error) {
	content, err := pseudofs.ReadFile(proc.path(pid, name), limit+1)
	if len(content) > limit {
		return "", fmt.Errorf("%s of process %d: %w: %d bytes", name, pid, errLong, limit)
	}
	return string(content), err
}

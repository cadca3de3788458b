// Package node finds what power over its node a container has, in what the kernel shows of
// its processes (proc(5)). The specification of its pod is not known there.
package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
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
func (proc Proc) Powers(pids []int, podUID string) ([]power.Found, error) {
	node, err := proc.see(1)
	if err != nil {
		return nil, err
	}
	all := powers{podUID: podUID, node: node, namespaces: map[string][]mount{}}
	if all.groups, err = proc.read(1, "cgroup", maxNode); err != nil {
		return nil, err
	}
	mountinfo, err := proc.read(1, "mountinfo", maxNode)
	if err != nil {
		return nil, err
	}
	all.mounts = index(parseMounts(mountinfo))
	for _, pid := range pids {
		if err := all.add(proc, pid); errors.Is(err, ErrLimit) || err != nil && proc.exists(pid) {
			return nil, err
		}
	}
	return all.found(), nil
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

// see reads a process.
func (proc Proc) see(pid int) (p process, err error) {
	for _, ns := range []struct {
		name string
		to   *string
	}{{"pid", &p.pid}, {"net", &p.network}, {"ipc", &p.ipc}, {"user", &p.user}, {"mnt", &p.mount}} {
		if *ns.to, err = os.Readlink(proc.path(pid, "ns/"+ns.name)); err != nil {
			return p, err
		}
	}
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
	return p, nil
}

// add adds a process.
func (all *powers) add(proc Proc, pid int) error {
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

// everything reports whether a process has all capabilities that there are on the node. What it
// may do in a user namespace ends there.
func (all *powers) everything(p process) bool {
	return p.user == all.node.user && p.capabilities&all.node.capabilities == all.node.capabilities
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
		in.privileged = in.privileged || all.everything(p) && slices.ContainsFunc(all.namespaces[p.mount], writableSys)
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
func (proc Proc) PIDNamespace(pid int) (string, error) { return os.Readlink(proc.path(pid, "ns/pid")) }

// exists reports whether a process runs, and is no zombie, which has no namespaces any more.
func (proc Proc) exists(pid int) bool {
	stat, err := proc.read(pid, "stat", maxFile)
	_, after, _ := strings.Cut(stat[strings.LastIndex(stat, ")")+1:], " ")
	return !errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

func (proc Proc) path(pid int, name string) string {
	return filepath.Join(string(proc), strconv.Itoa(pid), name)
}

// read reads a file of a process, of at most limit bytes.
func (proc Proc) read(pid int, name string, limit int) (string, error) {
	f, err := os.Open(proc.path(pid, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if len(content) > limit {
		return "", fmt.Errorf("%s of process %d: %w: %d bytes", name, pid, errLong, limit)
	}
	return string(content), err
}

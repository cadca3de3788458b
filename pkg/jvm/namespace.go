//go:build linux

package jvm

import (
	"os"
	"path"
	"slices"
	"strings"
)

// sharesFiles reports whether the process sees the same file system as this one.
func (p Process) sharesFiles() bool { return p.sameLink("ns/mnt") && p.sameFile("root") }

// InOtherContainer reports whether the process has another mount namespace than this one:
// where a pod shares its PID namespace, or its node's, the processes of other containers
// and pods are visible too. If the namespace may not be read, the control group decides,
// which everyone may read.
func (p Process) InOtherContainer() bool {
	same := false
	err := p.As(func() error {
		_, err := os.Readlink(procPath(p.PID, "ns/mnt"))
		same = err == nil && p.sameLink("ns/mnt")
		return err
	})
	if err == nil {
		return !same
	}
	return !p.inOurGroups()
}

// inOurGroups reports whether the process is in the control groups of this one. Everyone
// may read them, and unlike its namespaces, a process does not leave them on its own.
func (p Process) inOurGroups() bool {
	theirs, err := readProc(p.PID, "cgroup")
	if err != nil {
		return false
	}
	ours, err := readProc(os.Getpid(), "cgroup")
	return err == nil && withinGroups(string(theirs), string(ours))
}

// withinGroups reports whether a process' control groups are those of a container, or
// below them, in every hierarchy (lines of hierarchy-ID:controllers:path, cgroups(7)). A
// path outside our cgroup namespace begins with /.. (cgroup_namespaces(7)).
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

// SharesNetwork reports whether the process is in our network namespace, so that its
// ports are reachable on the loopback address.
func (p Process) SharesNetwork() bool {
	same := false
	_ = p.As(func() error { same = p.sameLink("ns/net"); return nil })
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

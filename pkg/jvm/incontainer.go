//go:build linux

package jvm

import (
	"os"
	"strings"
)

// Container is a container ID as the runtime has it; empty for the container of this
// process.
type Container string

// Has reports whether a process is in the container. Where a pod shares its PID
// namespace, or its node's, the processes of other containers and pods are visible too;
// and a helper in an ephemeral container is not in the target container.
func (c Container) Has(p Process) bool {
	if c == "" {
		return !p.InOtherContainer()
	}
	return c.hasGroupsOf(p)
}

// hasGroupsOf reports whether a process is in the control groups of the container, or
// below them. Everyone may read them, and unlike its namespaces, a process does not leave
// them on its own.
func (c Container) hasGroupsOf(p Process) bool {
	if c == "" {
		return p.inOurGroups()
	}
	groups, err := readProc(p.PID, "cgroup")
	return err == nil && c.named(string(groups))
}

// named reports whether one of the control groups (cgroups(7)) is the container's.
// Runtimes name it after the container ID: the ID alone, or <runtime>-<ID>.scope with
// systemd.
func (c Container) named(groups string) bool {
	id := string(c)
	for line := range strings.Lines(groups) {
		for part := range strings.SplitSeq(strings.TrimSpace(line), "/") {
			part = strings.TrimSuffix(part, ".scope")
			if part == id || strings.HasSuffix(part, "-"+id) || strings.HasSuffix(part, ":"+id) {
				return true
			}
		}
	}
	return false
}

// Processes returns the processes of the container, Java or not, by ascending PID.
func (c Container) Processes() ([]Process, error) {
	pids, err := processIDs()
	if err != nil {
		return nil, err
	}
	var processes []Process
	for _, pid := range pids {
		p := Process{PID: pid}
		if p.StartTime, err = StartTime(pid); err != nil {
			continue
		}
		if p.readStatus() == nil && c.Has(p) {
			processes = append(processes, p)
		}
	}
	return processes, nil
}

// OpenTmp opens /tmp as the processes of the container see it: Process.OpenTmp of the
// first process for which it succeeds. It returns an Error of Kind ProcessGone if the
// container has no process.
func (c Container) OpenTmp() (tmp *os.Root, err error) {
	processes, err := c.Processes()
	if err != nil {
		return nil, err
	}
	err = errorf(ProcessGone, "No process of the container runs any more.")
	for _, p := range processes {
		if tmp, err = p.OpenTmp(); err == nil {
			return tmp, nil
		}
	}
	return nil, err
}

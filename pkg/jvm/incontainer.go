//go:build linux

package jvm

import (
	"math"
	"os"
	"slices"
	"strings"
)

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
	switch {
	case c == "":
		return p.inOurGroups()
	case c.OnNode():
		return c.contains(p.PID)
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
	pids, err := c.pids()
	if err != nil {
		return nil, err
	}
	var processes []Process
	for _, pid := range pids {
		p := Process{PID: pid}
		if c.OnNode() && !c.contains(pid) { // nothing else is read of a process of others
			continue
		}
		if p.StartTime, err = StartTime(pid); err != nil {
			continue
		}
		if p.readStatus() == nil && c.Has(p) {
			processes = append(processes, p)
		}
	}
	return c.located(processes), nil
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

// innermost returns the index, in proc_pid_status(5)'s NSpid, of the PID that the container
// sees: the processes of a container may make further namespaces, but its first one has none.
// Those with the node's PIDs alone are the runtime's, about to enter, if others have more.
func innermost(processes []Process) int {
	least := math.MaxInt
	for _, p := range processes {
		if inner := len(p.nspids) - 1; inner > 0 {
			least = min(least, inner)
		}
	}
	if least == math.MaxInt {
		return 0
	}
	return least
}

// located returns the processes with the container, and the PIDs there.
func (c Container) located(processes []Process) []Process {
	if !c.OnNode() {
		return processes
	}
	level := innermost(processes)
	for i := range processes {
		processes[i].in = c
		if nspids := processes[i].nspids; level < len(nspids) {
			processes[i].pidIn = nspids[level]
		}
	}
	return processes
}

// StartTimes returns the function StartTime for process IDs as the container's processes see
// themselves. On a node these are the processes that it has now.
func (c Container) StartTimes() (startTime func(pid int) (uint64, error), err error) {
	if !c.OnNode() {
		return StartTime, nil
	}
	processes, err := c.Processes()
	return func(pid int) (uint64, error) {
		i := slices.IndexFunc(processes, func(p Process) bool { return p.NamespacePID == pid })
		if i < 0 {
			return 0, errorf(ProcessGone, "There is no process %d.", pid)
		}
		return processes[i].StartTime, nil
	}, err
}

//go:build linux

package jvm

import (
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
		p := Process{PID: pid, in: c}
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

// levelIn returns the index, in proc_pid_status(5)'s NSpid, of the PID that the container sees:
// the last one of its oldest process, of which the others descend. They may make further
// namespaces, also where the container itself has the node's; and one with fewer PIDs is the
// runtime's, about to enter.
func levelIn(processes []Process) int {
	if len(processes) == 0 {
		return 0
	}
	oldest := processes[0]
	for _, p := range processes {
		if p.StartTime < oldest.StartTime {
			oldest = p
		}
	}
	return len(oldest.nspids) - 1
}

// located returns the processes with the container, and the PIDs there.
func (c Container) located(processes []Process) []Process {
	if !c.OnNode() {
		return processes
	}
	level := levelIn(processes)
	for i := range processes {
		processes[i].in = c
		if nspids := processes[i].nspids; level < len(nspids) {
			processes[i].pidIn = nspids[level]
		}
	}
	return processes
}

// Alive returns a function that reports whether a process runs, by the ID that it or any
// container of the pod sees, and its start time. On a node, it is one of those that the pod has
// now: its containers may share their process IDs or their /tmp.
func (c Container) Alive() (alive func(pid int, startTime uint64) bool, err error) {
	podUID, _, onNode := c.pod()
	if !onNode {
		return func(pid int, startTime uint64) bool {
			started, err := StartTime(pid)
			return err == nil && started == startTime
		}, nil
	}
	placed, err := Placed(podUID)
	if err != nil {
		return nil, err
	}
	var running []Process
	for pid := range placed {
		p := Process{PID: pid}
		if p.StartTime, err = StartTime(pid); err == nil && p.readStatus() == nil {
			running = append(running, p)
		}
	}
	return func(pid int, startTime uint64) bool {
		return slices.ContainsFunc(running, func(p Process) bool {
			return p.StartTime == startTime && slices.Contains(p.nspids, pid)
		})
	}, nil
}

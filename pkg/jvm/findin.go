//go:build linux

package jvm

import "slices"

// Find returns what the function of that name finds in the container. On a node it looks
// into no process of another one.
func (c Container) Find() ([]Process, error) {
	if !c.OnNode() {
		found, err := Find()
		return slices.DeleteFunc(found, func(p Process) bool { return !c.Has(p) }), err
	}
	processes, err := c.Processes()
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, in := range processes {
		p, err := look(in.PID, c)
		if err == nil && p.isJava() && c.Has(p) {
			p.pidIn = in.pidIn
			found = append(found, p)
		}
	}
	return found, nil
}

// Lookup is the function of that name for a process of the container, on a node by the
// process ID that the container sees. It returns an Error of Kind ProcessGone for a process
// of another container.
func (c Container) Lookup(pid int, startTime uint64) (p Process, err error) {
	elsewhere := errorf(ProcessGone, "Process %d is in another container.", pid)
	if !c.OnNode() {
		if p, err = Lookup(pid, startTime); err == nil && !c.Has(p) {
			err = elsewhere
		}
		return p, err
	}
	processes, err := c.Processes()
	if err != nil {
		return Process{}, err
	}
	for _, in := range processes {
		if in.PIDIn() != pid || in.StartTime != startTime {
			continue
		}
		if p, err = lookup(in.PID, startTime, c); err == nil && !c.Has(p) {
			err = elsewhere
		}
		p.pidIn = in.pidIn
		return p, err
	}
	return Process{}, errorf(ProcessGone, "There is no process %d that started at %d in the container.", pid, startTime)
}

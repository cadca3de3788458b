//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// idleTime is how long an application is watched that nobody scrapes.
const idleTime = 20 * time.Second

// A thread is what one has used so far.
type thread struct {
	name    string
	cpu     time.Duration
	wakeups int64 // voluntary context switches
}

// threads returns the threads of a process by their IDs: proc_pid_task(5).
func threads(pid int) (map[string]thread, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return nil, err
	}
	out := map[string]thread{}
	for _, task := range tasks {
		status, err := os.ReadFile(filepath.Join(task, "status"))
		if err != nil {
			continue // It has ended.
		}
		spent, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			continue
		}
		var t thread
		for line := range strings.Lines(string(status)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch key {
			case "Name":
				t.name = strings.TrimSpace(value)
			case "voluntary_ctxt_switches":
				if t.wakeups, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil {
					return nil, err
				}
			}
		}
		nanoseconds, _, _ := strings.Cut(string(spent), " ")
		n, err := strconv.ParseInt(nanoseconds, 10, 64)
		if err != nil {
			return nil, err
		}
		t.cpu = time.Duration(n)
		out[filepath.Base(task)] = t
	}
	return out, nil
}

// isHotSpots reports whether a thread belongs to the JVM itself, which starts some
// while it runs.
func (t thread) isHotSpots() bool {
	for _, prefix := range []string{"C1 CompilerThre", "C2 CompilerThre", "Attach Listener", "Sweeper thread"} {
		if strings.HasPrefix(t.name, prefix) {
			return true
		}
	}
	return false
}

// An activity is what an agent's threads do while nobody asks for anything.
type activity struct {
	cpuPerMinute     time.Duration
	wakeupsPerSecond float64
	bytesPerMinute   float64
}

// idle watches the threads that were not there before the agent was loaded.
func (a *application) idle(before map[string]thread) (activity, error) {
	if _, err := a.allocated(); err != nil { // The first time, it loads what it needs.
		return activity{}, err
	}
	if _, err := a.look(); err != nil {
		return activity{}, err
	}
	bytes, err := a.allocated()
	if err != nil {
		return activity{}, err
	}
	first, err := threads(a.pid)
	if err != nil {
		return activity{}, err
	}
	start := time.Now()
	time.Sleep(idleTime)
	last, err := threads(a.pid)
	if err != nil {
		return activity{}, err
	}
	took := time.Since(start)
	after, err := a.allocated()
	if err != nil {
		return activity{}, err
	}
	var sum thread
	for id, t := range last {
		if _, old := before[id]; !old && !t.isHotSpots() {
			sum.cpu += t.cpu - first[id].cpu
			sum.wakeups += t.wakeups - first[id].wakeups
		}
	}
	return activity{
		cpuPerMinute:     time.Duration(float64(sum.cpu) / took.Minutes()),
		wakeupsPerSecond: float64(sum.wakeups) / took.Seconds(),
		bytesPerMinute:   float64(after-bytes) / took.Minutes(),
	}, nil
}

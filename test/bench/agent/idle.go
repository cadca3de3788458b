//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// idleFor is how long a JVM is observed that nobody scrapes.
const idleFor = time.Minute

// An idle is what an agent's threads did in a JVM that nobody scraped.
type idle struct {
	wakeUps   int64
	cpu       time.Duration
	allocated int64 // bytes of the heap
}

// theVMs are threads that HotSpot starts for itself, at any time.
var theVMs = regexp.MustCompile(`^(C[12] Compiler|Attach Listener|GC Thread|Signal Dispatch)`)

// observeIdle observes the threads that were started after these. What a compiler does for
// them is not theirs: it ends.
func (a *application) observeIdle(before []string) (i idle, err error) {
	if _, err := a.allocated(); err != nil { // loads classes
		return i, err
	}
	if _, err := a.look(); err != nil {
		return i, err
	}
	all, err := threads(a.pid)
	if err != nil {
		return i, err
	}
	started := slices.DeleteFunc(all, func(id string) bool {
		name, _ := os.ReadFile(filepath.Join(tasks(a.pid), id, "comm"))
		return slices.Contains(before, id) || theVMs.Match(name)
	})
	from, err := a.usedBy(started)
	if err != nil {
		return i, err
	}
	time.Sleep(idleFor)
	to, err := a.usedBy(started)
	return idle{to.wakeUps - from.wakeUps, to.cpu - from.cpu, to.allocated - from.allocated}, err
}

// usedBy returns what threads have used up to now; all threads of the JVM allocate.
func (a *application) usedBy(ids []string) (used idle, err error) {
	if used.allocated, err = a.allocated(); err != nil {
		return used, err
	}
	for _, id := range ids {
		status, err := os.ReadFile(filepath.Join(tasks(a.pid), id, "status"))
		if err != nil {
			continue // it ended
		}
		for line := range strings.Lines(string(status)) {
			if value, found := strings.CutPrefix(line, "voluntary_ctxt_switches:"); found {
				n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				if err != nil {
					return used, err
				}
				used.wakeUps += n
			}
		}
		schedstat, err := os.ReadFile(filepath.Join(tasks(a.pid), id, "schedstat"))
		if err != nil {
			continue
		}
		cpu, _, _ := strings.Cut(string(schedstat), " ")
		n, err := strconv.ParseInt(cpu, 10, 64)
		if err != nil {
			return used, err
		}
		used.cpu += time.Duration(n)
	}
	return used, nil
}

// allocated asks the application how much all threads but its own have allocated.
func (a *application) allocated() (int64, error) {
	if _, err := fmt.Fprintln(a.input); err != nil {
		return 0, err
	}
	line, err := a.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

// threads returns the IDs of a process's threads.
func threads(pid int) (ids []string, err error) {
	entries, err := os.ReadDir(tasks(pid))
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids, err
}

func tasks(pid int) string { return fmt.Sprintf("/proc/%d/task", pid) }

package faults

import (
	"fmt"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// met reports whether the fault happened.
func (r *run) met() bool { return r.plan.met == nil || r.plan.met(r) }

// check returns the rules that were broken.
func (r *run) check() (broken []string) {
	r.mu.Lock()
	broken = append(broken, r.broken...) // among them, how a step ended
	r.mu.Unlock()
	broken = append(broken, r.checkJVMs()...)
	broken = append(broken, r.checkFiles()...)
	return append(broken, r.checkGone()...)
}

// exporterStatus is the write whose number depends on when events arrive: it is held back
// for a second after each.
const exporterStatus = "PATCH prometheusjmxexporters/status by exporter-status"

// costs returns the number of writes and execs, those of the exporter's status aside.
func (r *run) costs() int {
	writes, execs, _ := r.proxy.counts()
	for _, name := range writes {
		if name != exporterStatus {
			execs++
		}
	}
	return execs
}

// checkCosts: no more writes and execs than without a fault, as far as the scenario was run, and
// those that it allows.
func (r *run) checkCosts(reference *run) (broken []string) {
	counted := func(of *run, until mark) (writes []string, statuses, execs int) {
		all, _, _ := of.proxy.counts()
		all = all[:until.writes]
		writes = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == exporterStatus })
		return writes, len(all) - len(writes), until.execs
	}
	want, _, most := counted(reference, reference.marks[min(len(r.ends), len(scenario)-1)])
	writes, statuses, execs := counted(r, r.total())
	if over := len(writes) - len(want) - r.plan.writes; over > 0 {
		broken = append(broken, fmt.Sprintf("%d writes more than allowed:\n%s", over, difference(strings.Join(want, "\n"), strings.Join(writes, "\n"))))
	}
	if most := int(r.took.Seconds()) + 1 + r.crashes; statuses > most {
		broken = append(broken, fmt.Sprintf("%d writes of the exporter's status in %s", statuses, r.took))
	}
	if over := execs - most - r.plan.execs; over > 0 {
		broken = append(broken, fmt.Sprintf("%d execs more than allowed; in them were %q instead of %q", over, r.calls, reference.calls))
	}
	return broken
}

// checkJVMs: each JVM is loaded once at most, signaled once at most, and not at all if it
// refuses attachers; and no agent serves in the end. That each one was loaded that should be,
// the ends of the steps say.
func (r *run) checkJVMs() (broken []string) {
	r.containers.Locked(func() {
		for i, j := range r.refusing {
			if j.Loads > 0 || j.Quits > 0 {
				broken = append(broken, fmt.Sprintf("refusing JVM %d: %d loads, %d signals", i, j.Loads, j.Quits))
			}
		}
		for i, j := range r.jvms {
			if j.Loads > 1 || j.Quits > 1 {
				broken = append(broken, fmt.Sprintf("JVM %d: %d loads, %d signals", i, j.Loads, j.Quits))
			}
		}
	})
	return broken
}

// checkFiles: no file is in parts under its final name, and none is left in the end.
func (r *run) checkFiles() (broken []string) {
	last := r.containers.Get(r.pod.UID, containerName)
	for _, c := range append([]*fakenode.Container{last}, r.spent...) {
		if c == nil {
			continue
		}
		if partial := c.Partial(); len(partial) > 0 {
			broken = append(broken, fmt.Sprintf("files are incomplete: %v", partial))
		}
	}
	if last == nil || r.plan.ends != nil {
		return broken
	}
	if left, exists := last.Files(); exists {
		broken = append(broken, fmt.Sprintf("the agent directory is left, with %v", left))
	}
	return broken
}

// attempt is how many requests an exec that is refused may take: after WebSocket, client-go
// tries SPDY.
const attempt = 2

// checkGone: nothing is executed in a pod that is gone, but for an attempt that was under way.
func (r *run) checkGone() (broken []string) {
	if r.gone == nil {
		return nil
	}
	if _, execs, _ := r.proxy.counts(); execs > r.gone.execs+attempt {
		broken = append(broken, fmt.Sprintf("%d requests for execs into a pod that is gone", execs-r.gone.execs))
	}
	return broken
}

package faults

import (
	"fmt"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// suspended is how long a leader is stopped if the other replica does nothing that ends it.
const suspended = 20 * time.Second

// twoLeaders is how many writes there may be more while two operators take themselves for the
// leader: most of one's are refused, since the other has written.
const twoLeaders = 12

// suspend stops the leader, and starts another replica, which takes over once the Lease has
// expired.
func (r *run) suspend() {
	r.t.Helper()
	r.deposed = r.operator
	r.must(r.deposed.command.Process.Signal(syscall.SIGSTOP))
	r.start(operatorSpec{Host: r.proxy.server.URL, Namespace: r.namespace, Elected: true})
}

// wake continues the previous leader, as if no time had passed, with whatever it was doing.
func (r *run) wake() { _ = r.deposed.command.Process.Signal(syscall.SIGCONT) } // it may have ended

// planSuspensions stops the leader at each effect for longer than its Lease is valid.
func planSuspensions(effects []occurrence) (all []plan) {
	for _, o := range effects {
		s := &strike{Effect: o.name, Nth: o.nth, Action: waits}
		all = append(all, plan{
			class: "leader stopped beyond its Lease at an effect", name: fmt.Sprintf("leader stopped, %s", s),
			lasts: suspended, writes: twoLeaders, execs: 4,
			arm:       func(_ *run, spec *operatorSpec) { spec.Strike, spec.Elected = s, true },
			meanwhile: (*run).suspend, afterwards: (*run).wake,
			wakes: func(line operatorMessage) bool { return line.Effect == o.name },
			met:   (*run).struck,
		})
	}
	return all
}

// planTakeovers kills the leader after each effect. The other replica takes over when the
// Lease has expired.
func planTakeovers(effects []occurrence) (all []plan) {
	for _, o := range effects {
		p := crash(o, true, killed)
		p.class, p.name = "leader killed at an effect", "leader "+p.name
		arm := p.arm
		p.arm = func(r *run, spec *operatorSpec) {
			arm(r, spec)
			spec.Elected = true
		}
		p.next = func(_ *run, next *operatorSpec) { next.Elected = true }
		all = append(all, p)
	}
	return all
}

// planLoads stops the leader while its agent is being loaded. It continues, and the load with
// it, when the next leader wants to load, too.
func planLoads(calls []occurrence) (all []plan) {
	for _, o := range calls {
		if o.name == string(helperapi.VerbLoad) {
			all = append(all, loadedBy(o))
		}
	}
	return all
}

func loadedBy(o occurrence) plan {
	var locks, loads int
	return plan{
		class: "leader stopped beyond its Lease inside a load", name: fmt.Sprintf("leader stopped inside load, %d", o.nth),
		writes: twoLeaders, execs: 4,
		arm: func(r *run, spec *operatorSpec) {
			spec.Elected, locks, loads = true, 0, 0
			another := make(chan struct{}) // is at the lock of the JVM
			r.containers.OnLock = func(*fakenode.JVM) {
				r.mu.Lock()
				locks++
				now := locks == o.nth+1
				r.mu.Unlock()
				if now {
					r.wake()
					close(another)
				}
			}
			r.containers.OnLoad = func(*fakenode.JVM) {
				r.mu.Lock()
				loads++
				now := loads == o.nth
				r.mu.Unlock()
				if !now {
					return
				}
				r.do(r.suspend)
				select {
				case <-another:
				case <-r.t.Context().Done():
				}
			}
		},
		met: func(r *run) bool { return r.deposed != nil && locks > o.nth },
	}
}

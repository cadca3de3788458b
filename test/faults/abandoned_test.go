package faults

import (
	"sync/atomic"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// planAbandoned lets a helper, whose operator is killed while it comes to the lock of the JVM, work
// after the next operator's load.
func planAbandoned() []plan { return []plan{abandonedLoad(), abandonedUnload()} }

// abandoned is a helper whose operator was killed.
type abandoned struct {
	waits atomic.Bool
	next  chan struct{} // is closed after the next operator's load
}

// await kills the operator, lets the next one begin with something else to do, and returns after
// that one's load. Only the first call does.
func (a *abandoned) await(r *run, change func()) {
	if !a.waits.CompareAndSwap(false, true) {
		return
	}
	r.do(func() {
		r.operator.kill()
		change()
	})
	select {
	case <-a.next:
	case <-r.t.Context().Done():
	}
}

// loaded notes the load of the next operator.
func (a *abandoned) loaded() {
	if !a.waits.Load() {
		return
	}
	select {
	case <-a.next:
	default:
		close(a.next)
	}
}

const classAbandoned = "helper works after the next operator's load"

// abandonedLoad changes the ConfigMap, and back when a load of that comes to the lock.
func abandonedLoad() plan {
	const other = "lowercaseOutputLabelNames: true\n" + rules
	digest := helperapi.NewFile("config-", []byte(other), ".yaml").SHA256
	return plan{
		class: classAbandoned, name: "killed while a load comes to the lock of the JVM",
		crashes: 1, writes: replacedWrites, execs: 2 * replacedExecs,
		arm: func(r *run, _ *operatorSpec) {
			var staged, loads atomic.Bool
			helper := &abandoned{next: make(chan struct{})}
			r.containers.OnCall = func(at fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				r.observe(at, verb, request)
				if verb == helperapi.VerbStage && staged.CompareAndSwap(false, true) {
					r.do(func() { r.configure(other) })
				}
				loads.Store(verb == helperapi.VerbLoad && request.Desired.ConfigSHA256 == digest)
			}
			r.containers.OnLock = func(*fakenode.JVM) {
				if loads.Load() {
					helper.await(r, func() { r.configure(r.wanted) })
				}
			}
			r.containers.OnDone = func(_ fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				if verb == helperapi.VerbLoad && request.Desired.ConfigSHA256 != digest {
					helper.loaded()
				}
			}
		},
		met: func(r *run) bool { return r.crashes == 1 },
	}
}

// abandonedUnload creates the exporter again when the unload of the deleted one comes to the lock.
// It is deleted again after that unload.
func abandonedUnload() plan {
	return plan{
		class: classAbandoned, name: "killed while an unload comes to the lock of the JVM",
		crashes: 1, writes: 2 * replacedWrites, execs: 2 * replacedExecs,
		arm: func(r *run, _ *operatorSpec) {
			var unloads, works atomic.Bool
			stops := func(verb helperapi.Verb, request helperapi.Request) bool {
				return verb == helperapi.VerbUnload && request.Target.PID == fakenode.JavaPID // the other JVM has no agent
			}
			helper := &abandoned{next: make(chan struct{})}
			r.containers.OnCall = func(at fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				r.observe(at, verb, request)
				unloads.Store(stops(verb, request))
			}
			r.containers.OnLock = func(*fakenode.JVM) {
				if unloads.Load() {
					helper.await(r, r.createExporter)
				}
			}
			r.containers.OnDone = func(_ fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				switch {
				case verb == helperapi.VerbLoad:
					helper.loaded()
				case stops(verb, request) && works.CompareAndSwap(false, true):
					var runs bool
					r.containers.Locked(func() { runs = r.jvms[len(r.jvms)-1].Running() })
					if !runs {
						r.breaks("the agent was stopped after it was asked to serve")
					}
					r.do(func() { r.must(admin.Delete(r.t.Context(), r.exporter)) })
				}
			}
		},
		met: func(r *run) bool { return r.crashes == 1 },
	}
}

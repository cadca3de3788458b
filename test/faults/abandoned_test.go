package faults

import (
	"sync/atomic"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// planAbandoned changes the ConfigMap, and kills the operator when a load of that comes to the lock
// of the JVM. The load goes on after the next operator has loaded what the ConfigMap was before.
func planAbandoned() []plan {
	const other = "lowercaseOutputLabelNames: true\n" + rules
	digest := helperapi.NewFile("config-", []byte(other), ".yaml").SHA256
	var staged, loads, abandoned atomic.Bool
	var next chan struct{} // is closed after the next operator's load
	return []plan{{
		class: "load goes on after the next one", name: "killed at the lock of a JVM, whose load goes on after the next one",
		crashes: 1, writes: replacedWrites, execs: 2 * replacedExecs,
		arm: func(r *run, _ *operatorSpec) {
			for _, b := range []*atomic.Bool{&staged, &loads, &abandoned} {
				b.Store(false)
			}
			next = make(chan struct{})
			r.containers.OnCall = func(at fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				r.observe(at, verb, request)
				if verb == helperapi.VerbStage && staged.CompareAndSwap(false, true) {
					r.do(func() { r.configure(other) })
				}
				loads.Store(verb == helperapi.VerbLoad && request.Desired.ConfigSHA256 == digest)
			}
			r.containers.OnLock = func(*fakenode.JVM) {
				if !loads.Load() || !abandoned.CompareAndSwap(false, true) {
					return
				}
				r.do(func() {
					r.operator.kill()
					r.configure(r.wanted)
				})
				select {
				case <-next:
				case <-r.t.Context().Done():
				}
			}
			r.containers.OnDone = func(_ fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				if verb == helperapi.VerbLoad && request.Desired.ConfigSHA256 != digest && abandoned.Load() {
					select {
					case <-next:
					default:
						close(next)
					}
				}
			}
		},
		met: func(r *run) bool { return r.crashes == 1 },
	}}
}

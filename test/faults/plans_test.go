package faults

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// occurrence is the nth of what has a name, starting at 1.
type occurrence struct {
	name string
	nth  int
}

// certain is how often an exporter's status is written in every run at least. How often it
// is depends on when events arrive, since it is held back for a second after each write.
const certain = 4

// common returns what occurs in all runs, in the order of the first one.
func common(runs []*run, recorded func(*run) []string) (all []occurrence) {
	least := map[string]int{}
	for i, r := range runs {
		counts := map[string]int{}
		for _, name := range recorded(r) {
			counts[name]++
		}
		if i == 0 {
			least = counts
		}
		for name := range least {
			least[name] = min(least[name], counts[name])
		}
	}
	seen := map[string]int{}
	for _, name := range recorded(runs[0]) {
		seen[name]++
		if seen[name] <= least[name] && !(seen[name] > certain && strings.Contains(name, "exporter-status")) {
			all = append(all, occurrence{name, seen[name]})
		}
	}
	return all
}

// effectsOf returns the effects that occur in all runs.
func effectsOf(runs []*run) []occurrence {
	return common(runs, func(r *run) []string { return r.effects })
}

// plans generates all plans from what the operator did without a fault, so that a new
// effect, operation or write brings its own.
func plans(references []*run) (all []plan) {
	effects := effectsOf(references)
	for _, class := range []struct {
		name string
		of   func(occurrence, bool) plan
	}{
		{"kill -9 at an effect", func(o occurrence, after bool) plan { return crash(o, after, killed) }},
		{"panic at an effect", func(o occurrence, after bool) plan { return crash(o, after, panics) }},
		{"Lease lost at an effect", func(o occurrence, after bool) plan { return crash(o, after, deposed) }},
		{"container restarted at an effect", func(o occurrence, after bool) plan { return replace(o, after, (*run).startContainer) }},
		{"pod recreated at an effect", func(o occurrence, after bool) plan { return replace(o, after, (*run).recreate) }},
	} {
		for _, o := range effects {
			for _, after := range []bool{false, true} {
				p := class.of(o, after)
				p.class = class.name
				all = append(all, p)
			}
		}
	}
	calls := common(references, func(r *run) []string { return r.calls })
	for _, o := range calls {
		all = append(all, inside(o, false), inside(o, true))
	}
	for _, o := range common(references, func(r *run) []string { writes, _, _ := r.proxy.counts(); return writes }) {
		for _, status := range []int{http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
			all = append(all, refused(o, status, false))
		}
		all = append(all, refused(o, http.StatusGatewayTimeout, true))
	}
	return slices.Concat(all, cuts(references[0]), planSecondCrashes(effects), planTakeovers(effects), planSuspensions(effects), planLoads(calls), planAbandoned(),
		planOutages(effects), planContents(effects), planClocks(effects), planNamespaces(effects), planCRDs(effects), planQuotas(references[0]))
}

// struck reports whether an effect has met its fault.
func (r *run) struck() bool { return r.strikes > 0 }

// crash ends an operator at an effect.
func crash(o occurrence, after bool, how action) plan {
	s := &strike{Effect: o.name, Nth: o.nth, After: after, Action: how}
	p := plan{name: s.String(), crashes: 1, writes: 1, execs: 1, arm: func(_ *run, spec *operatorSpec) {
		spec.Strike, spec.Elected = s, how == deposed
	}, met: (*run).struck}
	if how == deposed {
		p.meanwhile = (*run).depose
	}
	return p
}

// replace replaces what the operator works on at an effect. All that was done for it is
// done again.
func replace(o occurrence, after bool, how func(*run)) plan {
	s := &strike{Effect: o.name, Nth: o.nth, After: after, Action: waits}
	return plan{
		name: s.String(), arm: func(_ *run, spec *operatorSpec) { spec.Strike = s },
		meanwhile: how, met: (*run).struck,
		writes: replacedWrites, execs: replacedExecs,
	}
}

// What is done again for what is replaced.
const replacedWrites, replacedExecs = 20, 4

// inside kills the operator while an operation runs in a container, which continues without
// it.
func inside(o occurrence, after bool) plan {
	when := "before"
	if after {
		when = "after"
	}
	var seen int
	var met bool
	return plan{
		class: "kill -9 inside an operation of the helper", name: "killed inside " + o.name + ", " + when + " its work, " + strconv.Itoa(o.nth),
		crashes: 1, writes: 1, execs: 1,
		arm: func(r *run, _ *operatorSpec) {
			seen, met = 0, false
			strike := func(_ fakenode.Place, verb helperapi.Verb, _ helperapi.Request) {
				if string(verb) != o.name {
					return
				}
				r.mu.Lock()
				seen++
				now, operator := seen == o.nth, r.operator
				met = met || now
				r.mu.Unlock()
				if now {
					operator.kill()
				}
			}
			if after {
				r.containers.OnDone = strike
				return
			}
			r.containers.OnCall = func(at fakenode.Place, verb helperapi.Verb, request helperapi.Request) {
				r.observe(at, verb, request)
				strike(at, verb, request)
			}
		},
		met: func(*run) bool { return met },
	}
}

// refused makes the API server refuse a write, or perform it and lose the answer.
func refused(o occurrence, status int, after bool) plan {
	f := refusal{write: o.name, nth: o.nth, status: status, after: after}
	class := strconv.Itoa(status) + " to a write"
	if after {
		class = strconv.Itoa(status) + " after a write"
	}
	return plan{
		class: class, name: f.String(), writes: 2, execs: 1,
		arm: func(r *run, _ *operatorSpec) { r.proxy.refusal = new(f) },
		met: func(r *run) bool { return r.proxy.refused() },
	}
}

// offsets is the number of places at which streams are cut: half of them in what is sent,
// half in what is received, evenly distributed over the bytes of all streams of a run.
const offsets = 8

// cuts ends a stream after an exact number of bytes.
func cuts(reference *run) (all []plan) {
	totals := reference.proxy.meter.totals()
	for _, protocol := range []string{"WebSocket", "SPDY"} {
		for _, how := range []ending{finished, reset, silent} {
			for i := range int64(offsets) {
				d := direction(i % 2)
				at := totals[d] * (i/2*2 + 1) / offsets
				all = append(all, cutAt(protocol, cut{d, at, how}))
			}
		}
	}
	return all
}

func cutAt(protocol string, c cut) plan {
	direction := map[direction]string{sent: "sent", received: "received"}[c.direction]
	return plan{
		class: "stream over " + protocol + " cut by " + string(c.how), name: protocol + " " + string(c.how) + " after " + strconv.FormatInt(c.at, 10) + " bytes " + direction,
		writes: 4, execs: 2, // the failure and its end are recorded; one looks, and one continues
		arm: func(r *run, _ *operatorSpec) { r.proxy.withoutWebSocket, r.proxy.meter.cut = protocol == "SPDY", &c },
		met: func(r *run) bool { return r.proxy.meter.happened() },
	}
}

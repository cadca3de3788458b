package faults

import (
	"fmt"
	"net/http"
	"time"
)

// outages are faults of the API server at all requests, for a time that begins at an effect.
var outages = []struct {
	class  string
	outage outage
	lasts  time.Duration
	// meanwhile changes what the operator works on; nil for nothing.
	meanwhile func(*run)
	// writes and execs are how many more there may be.
	writes, execs int
}{
	{"API server restarted at an effect", outage{unreachable: true}, 3 * time.Second, nil, 4, 3},
	{"etcd away for 30 s from an effect", outage{status: http.StatusInternalServerError, silent: true}, 30 * time.Second, nil, 4, 3},
	{"token expired at an effect", outage{status: http.StatusUnauthorized}, 3 * time.Second, nil, 4, 3},
	{"410 to all watches from an effect", outage{expired: true}, time.Second, nil, 4, 3},
	{"events late while the container restarts", outage{silent: true}, 3 * time.Second, (*run).startContainer, replacedWrites, replacedExecs},
	{"events missed while the pod is recreated", outage{unreachable: true}, 3 * time.Second, (*run).recreate, replacedWrites, replacedExecs},
}

// planOutages makes the API server fail from each effect on.
func planOutages(effects []occurrence) (all []plan) {
	for _, o := range outages {
		for _, at := range effects {
			s := &strike{Effect: at.name, Nth: at.nth, Action: waits}
			all = append(all, plan{
				class: o.class, name: o.class + ", " + s.String(), lasts: o.lasts, writes: o.writes, execs: o.execs,
				arm: func(_ *run, spec *operatorSpec) { spec.Strike = s },
				meanwhile: func(r *run) {
					r.proxy.fail(o.outage)
					if o.meanwhile != nil {
						o.meanwhile(r)
					}
				},
				afterwards: func(r *run) { r.proxy.mend() },
				met:        (*run).struck,
			})
		}
	}
	return all
}

// contents are what happens to the ConfigMap for a while.
var contents = []struct {
	what   string
	change func(*run)
}{
	{"changed", func(r *run) { r.configure("lowercaseOutputLabelNames: true\n" + rules) }},
	{"emptied", func(r *run) { r.configure("") }},
	{"invalid", func(r *run) { r.configure("rules: [") }},
	{"deleted", (*run).deleteRules},
}

// planContents changes the ConfigMap at each effect, and back after a while.
func planContents(effects []occurrence) (all []plan) {
	for _, c := range contents {
		for _, at := range effects {
			s := &strike{Effect: at.name, Nth: at.nth, Action: waits}
			all = append(all, plan{
				class: "ConfigMap " + c.what + " at an effect", name: fmt.Sprintf("ConfigMap %s, %s", c.what, s),
				lasts: 2 * time.Second, writes: replacedWrites, execs: 2 * replacedExecs,
				arm:       func(_ *run, spec *operatorSpec) { spec.Strike = s },
				meanwhile: c.change, afterwards: func(r *run) { r.configure(r.wanted) },
				met: (*run).struck,
			})
		}
	}
	return all
}

// planClocks kills the operator, and starts another one whose clock differs.
func planClocks(effects []occurrence) (all []plan) {
	for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		for _, o := range effects {
			p := crash(o, false, killed)
			p.class = fmt.Sprintf("next operator's clock differs by %s", by)
			p.name = fmt.Sprintf("clock differs by %s, %s", by, p.name)
			p.next = func(_ *run, next *operatorSpec) { next.Ahead = by }
			all = append(all, p)
		}
	}
	return all
}

// planSecondCrashes kills an operator at each effect, and the next one soon after its start.
func planSecondCrashes(effects []occurrence) (all []plan) {
	const most = 3
	for i, o := range effects[:max(0, len(effects)-2*most)] { // the next one has as many effects left
		p := crash(o, i%2 == 1, killed)
		second := strike{Nth: 1 + i%most, After: i%2 == 0, Action: killed}
		p.class = "killed twice"
		p.name += ", and " + second.String()
		p.crashes, p.writes, p.execs = 2, 2, 2
		p.next = func(_ *run, next *operatorSpec) { next.Strike = &second }
		p.met = func(r *run) bool { return r.crashes == 2 }
		all = append(all, p)
	}
	return all
}

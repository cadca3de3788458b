package faults

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// executePrevious runs the scenario without a fault with the operator of the previous release.
func executePrevious(t *testing.T) *run {
	t.Helper()
	r := execute(t, plan{arm: func(_ *run, spec *operatorSpec) { spec.Previous = true }}, nil)
	for _, broken := range r.check() {
		t.Fatalf("the previous release: %s", broken)
	}
	return r
}

// upgradeWrites is how many writes there may be more for each operator of another release: what one
// states differently than the other is written by each.
const upgradeWrites = 12

// planUpgrades replaces the operator of the previous release by this one, and back.
func planUpgrades(previous *run, effects []occurrence) (all []plan) {
	before := effectsOf([]*run{previous})
	for i, o := range before {
		all = append(all, upgrade(previous, o, i%2 == 0))
	}
	for i, o := range effects {
		all = append(all, downgrade(o, i%2 == 0))
	}
	for i := 0; i < len(before); i += 6 {
		all = append(all, upgradeWithCRDs(before[i], i%4 == 0))
	}
	return all
}

// upgrade kills the operator of the previous release at an effect; this one takes over.
func upgrade(previous *run, o occurrence, after bool) plan {
	p := crash(o, after, killed)
	p.class, p.name = "upgraded at an effect", "upgraded, "+p.name
	p.previous, p.writes, p.execs = previous, upgradeWrites, 2
	p.arm = armed(p.arm, func(_ *run, spec *operatorSpec) { spec.Previous = true })
	return p
}

// downgrade kills the operator at an effect. That of the previous release takes over for some
// seconds, and then this one again.
func downgrade(o occurrence, after bool) plan {
	p := crash(o, after, killed)
	p.class, p.name = "downgraded and upgraded again at an effect", "downgraded, "+p.name
	p.crashes, p.lasts, p.writes, p.execs = 2, 3*time.Second, 2*upgradeWrites, 3
	p.next = func(_ *run, next *operatorSpec) { next.Previous = true }
	p.afterwards = func(r *run) { r.operator.terminate() }
	p.met = func(r *run) bool { return r.crashes == 2 }
	return p
}

// upgradeWithCRDs also replaces the CRDs of the previous release by those of this one.
func upgradeWithCRDs(o occurrence, after bool) plan {
	p := upgrade(&run{ends: make([]string, len(scenario))}, o, after) // those CRDs have other defaults
	p.class, p.name, p.alone = "upgraded with its CRDs at an effect", p.name+", with its CRDs", true
	p.arm = armed(p.arm, func(r *run, _ *operatorSpec) {
		folder, err := ofPrevious("crds")
		r.must(err)
		r.installCRDsOf(envtest.CRDInstallOptions{Paths: []string{folder}})
		r.t.Cleanup(r.installCRDs)
	})
	p.meanwhile = func(r *run) { r.installCRDs() }
	return p
}

// armed arms a fault in two ways.
func armed(one, other func(*run, *operatorSpec)) func(*run, *operatorSpec) {
	return func(r *run, spec *operatorSpec) { one(r, spec); other(r, spec) }
}

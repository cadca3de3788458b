package faults

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// references is how many runs without a fault the plans are generated from.
const references = 3

// sample is the part of the plans that every change has to pass: one in this many of each
// class. FULL=1 runs all.
const sample = 11

// tries is how often a plan is run whose fault does not happen, since an effect that depends
// on when events arrive did not occur as often as without a fault; or in which more is
// written or executed than allowed, which a timeout on a busy machine may cause.
const tries = 3

// TestFaults runs the scenario once for each plan: whatever fails at whichever effect, it
// ends as without a fault.
func TestFaults(t *testing.T) {
	reference := executeReferences(t)
	table := &table{}
	t.Cleanup(func() { table.print(t) })
	all := plans(reference)
	if full() { // the previous release takes as long to build as all other plans of a sample
		all = append(all, planUpgrades(executePrevious(t), effectsOf(reference))...)
	} else {
		all = sampled(all)
	}
	for _, p := range all {
		t.Run(p.class+"/"+p.name, func(t *testing.T) {
			table.planned(p.class)
			if !p.alone {
				t.Parallel()
			}
			for _, broken := range outcome(t, p, reference[0]) {
				t.Error(broken)
			}
			if !t.Failed() {
				table.passed(p.class)
			}
		})
	}
}

// sampled returns a part of the plans of each class, one at least, and not those at the same
// effects in each.
func sampled(all []plan) (some []plan) {
	var classes []string
	byClass := map[string][]plan{}
	for _, p := range all {
		if byClass[p.class] == nil {
			classes = append(classes, p.class)
		}
		byClass[p.class] = append(byClass[p.class], p)
	}
	for i, class := range classes {
		for j := i % min(sample, len(byClass[class])); j < len(byClass[class]); j += sample {
			some = append(some, byClass[class][j])
		}
	}
	return some
}

// outcome returns the rules that are broken in a plan.
func outcome(t *testing.T, p plan, reference *run) (broken []string) {
	t.Helper()
	for range tries {
		r := execute(t, p, reference)
		if broken = r.check(); len(broken) > 0 {
			return broken
		}
		if !r.met() {
			broken = []string{"the fault did not happen"}
		} else if broken = r.checkCosts(reference); len(broken) == 0 {
			return nil
		}
	}
	return broken
}

// executeReferences runs the scenario without a fault, several times, and returns the costliest run
// first.
func executeReferences(t *testing.T) []*run {
	t.Helper()
	runs := make([]*run, references)
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() { runs[i] = execute(t, plan{}, nil) })
	}
	if all.Wait(); t.Failed() {
		t.FailNow()
	}
	for _, r := range runs {
		for _, broken := range r.check() {
			t.Error(broken)
		}
		for i := range r.ends {
			if diff := difference(runs[0].ends[i], r.ends[i]); diff != "" {
				t.Errorf("%s without a fault has several ends:\n%s", scenario[i].name, diff)
			}
		}
	}
	// The costs of the first one are the bound: a busy machine makes an exec time out.
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(b.costs(), a.costs()) })
	if t.Failed() {
		t.FailNow()
	}
	return runs
}

func difference(want, got string) string { return gocmp.Diff(want, got) }

// table counts plans by class.
type table struct {
	mu    sync.Mutex
	order []string
	plans map[string]int
	good  map[string]int
}

func (t *table) planned(class string) {
	if t.plans == nil {
		t.plans, t.good = map[string]int{}, map[string]int{}
	}
	if t.plans[class] == 0 {
		t.order = append(t.order, class)
	}
	t.plans[class]++
}

func (t *table) passed(class string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.good[class]++
}

// print writes the table to the file that FAULTS_TABLE names, or else to the log.
func (t *table) print(to *testing.T) {
	file := os.Getenv("FAULTS_TABLE")
	if file == "" {
		to.Log(t)
		return
	}
	if err := os.WriteFile(file, []byte(t.String()), 0o644); err != nil {
		to.Error(err)
	}
}

// String returns the table in Markdown.
func (t *table) String() string {
	var b strings.Builder
	b.WriteString("| class | plans | passed |\n| --- | --- | --- |\n")
	all, good := 0, 0
	for _, class := range t.order {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", class, t.plans[class], t.good[class])
		all, good = all+t.plans[class], good+t.good[class]
	}
	fmt.Fprintf(&b, "| all | %d | %d |\n", all, good)
	return b.String()
}

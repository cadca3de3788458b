package faults

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// quiet is how long an operator must do nothing until it counts as idle: longer than
	// the second for which the status of an exporter is held back.
	quiet = 1500 * time.Millisecond
	// stepTimeout is how long a step may take: some timeouts of the operator, and backoffs
	// after them.
	stepTimeout = 5 * time.Minute
)

// plan is a fault in the scenario.
type plan struct {
	class, name string
	// arm prepares the fault.
	arm func(*run, *operatorSpec)
	// next prepares the operators after the first one.
	next func(*run, *operatorSpec)
	// meanwhile happens while the operator waits at its strike, and afterwards ends it, once
	// it has lasted long enough.
	meanwhile, afterwards func(*run)
	lasts                 time.Duration
	// wakes reports whether a line of the operator that leads ends it earlier; nil for no line.
	wakes func(operatorMessage) bool
	// met reports whether the fault happened.
	met func(*run) bool
	// crashes is how many operators the fault may end.
	crashes int
	// writes and execs are how many more than in the reference run there may be.
	writes, execs int
	// ends reports whether the scenario has ended after a fault that leaves nothing to continue with;
	// nil if it continues.
	ends func(*run, context.Context) bool
	// alone means that no other plan may use the API server meanwhile.
	alone bool
	// previous is a run of the previous release, which runs the scenario until the operator ends;
	// nil for none.
	previous *run
	// stepTimeout is how long a step may take, if not stepTimeout.
	stepTimeout time.Duration
}

// mark is how many writes and execs there were until then.
type mark struct{ writes, execs int }

// operatorMessage is a line of an operator.
type operatorMessage struct {
	message
	from *process
}

// run is one execution of the scenario.
type run struct {
	*world
	plan plan
	// reference is a run without a fault; nil for such a run.
	reference *run
	operator  *process
	// deposed is an operator that is stopped, or continues as if it were the leader; nil for
	// none.
	deposed  *process
	messages chan operatorMessage
	// over is when the fault has lasted long enough; nil if it is over.
	over <-chan time.Time
	// tasks are what containers want to be done.
	tasks chan func()
	// effects are those of all operators, in order.
	effects []string
	// strikes and crashes are how many there were.
	strikes, crashes int
	// gone is what the run had cost when its pod went for good; nil if it is there.
	gone *mark
	// ends are the objects after each step, marks what it had cost, and took is how long all
	// took.
	ends  []string
	marks []mark
	took  time.Duration
}

// newRun returns a run without an operator. Those that it gets end with the test.
func newRun(t *testing.T, p plan, reference *run) *run {
	t.Helper()
	r := &run{world: newWorld(t), plan: p, reference: reference, messages: make(chan operatorMessage, 100), tasks: make(chan func())}
	t.Cleanup(func() {
		for _, p := range []*process{r.operator, r.deposed} {
			if p != nil {
				p.kill()
			}
		}
		if t.Failed() && r.operator != nil {
			t.Logf("the operator's log:\n%s", r.operator.log)
		}
	})
	return r
}

// execute runs the scenario with a fault, and returns the run.
func execute(t *testing.T, p plan, reference *run) *run {
	t.Helper()
	r := newRun(t, p, reference)
	spec := operatorSpec{Host: r.proxy.server.URL, Namespace: r.namespace}
	if p.arm != nil {
		p.arm(r, &spec)
	}
	r.start(spec)
	next := operatorSpec{Host: spec.Host, Namespace: spec.Namespace}
	if p.next != nil {
		p.next(r, &next)
	}
	began := time.Now()
	for i := range scenario {
		scenario[i].begin(r.world)
		if !r.settle(i, next) {
			break
		}
	}
	r.took = time.Since(began)
	if r.deposed != nil {
		if len(r.ends) < len(scenario) {
			_ = r.deposed.command.Process.Kill()
		}
		r.end(r.deposed) // by itself, as long as another one has the Lease
	}
	r.stop(r.operator)
	return r
}

func (r *run) stepTimeout() time.Duration { return cmp.Or(r.plan.stepTimeout, stepTimeout) }

// total is what the run has cost until now.
func (r *run) total() mark {
	writes, execs, _ := r.proxy.counts()
	return mark{len(writes), execs}
}

// stop ends an operator in order.
func (r *run) stop(p *process) {
	p.terminate()
	r.end(p)
	if state := p.command.ProcessState; !state.Success() && p.log.String() != "" { // one that does nothing yet handles no signal
		r.breaks(fmt.Sprintf("the operator ended with %s", state))
	}
}

// end waits until an operator has ended.
func (r *run) end(p *process) {
	late := time.After(r.stepTimeout())
	for {
		select {
		case line := <-r.messages:
			r.handle(line)
		case <-p.ended:
			return
		case <-late:
			r.breaks(fmt.Sprintf("the operator does not end:\n%s", p.log))
			p.kill()
			return
		}
	}
}

// do calls task where operators are started, and returns after it.
func (r *run) do(task func()) {
	done := make(chan struct{})
	select {
	case r.tasks <- func() { task(); close(done) }:
		<-done
	case <-r.t.Context().Done():
	}
}

func (r *run) start(spec operatorSpec) {
	r.t.Helper()
	operator, err := start(spec, func(from *process, line message) {
		select {
		case r.messages <- operatorMessage{line, from}:
		case <-r.t.Context().Done():
		}
	})
	r.must(err)
	r.mu.Lock()
	r.operator = operator
	r.mu.Unlock()
}

// mend ends the fault.
func (r *run) mend() {
	r.over = nil
	r.plan.afterwards(r)
}

func (r *run) handle(line operatorMessage) {
	if wakes := r.plan.wakes; r.over != nil && wakes != nil && line.from == r.operator && wakes(line) {
		r.mend()
	}
	if line.Effect != "" {
		r.effects = append(r.effects, line.Effect)
	}
	if line.Struck {
		r.strikes++
		if r.plan.meanwhile != nil {
			r.plan.meanwhile(r)
		}
		if r.plan.afterwards != nil {
			r.over = time.After(r.plan.lasts)
		}
		line.from.resume()
	}
}

// restart starts the next operator after one that has ended.
func (r *run) restart(spec operatorSpec) bool {
	r.t.Helper()
	if r.crashes++; r.crashes > r.plan.crashes {
		r.breaks(fmt.Sprintf("the operator ended by itself (%s):\n%s", r.operator.command.ProcessState, r.operator.log))
		return false
	}
	if !spec.Elected { // the other replica is gone
		lease := &coordinationv1.Lease{ObjectMeta: r.named("jmx-exporter-operator")}
		r.must(client.IgnoreNotFound(admin.Delete(r.t.Context(), lease)))
	}
	if r.crashes > 1 {
		spec.Strike, spec.Previous = nil, false
	}
	r.start(spec)
	if spec.Previous {
		r.over = time.After(r.plan.lasts)
	}
	return true
}

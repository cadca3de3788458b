package faults

import (
	"context"
	"errors"
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
	// patience is how long a chapter may take: some timeouts of the operator, and backoffs
	// after them.
	patience = 5 * time.Minute
)

// plan is one fault in the story.
type plan struct {
	class, name string
	// arm prepares the fault.
	arm func(*run, *operatorSpec)
	// meanwhile happens while the operator waits at its strike.
	meanwhile func(*world)
	// met reports whether the fault happened.
	met func(*run) bool
	// crashes is how many operators the fault may end.
	crashes int
	// writes and execs are how many more than in the reference run there may be.
	writes, execs int
}

// run is one telling of the story.
type run struct {
	*world
	plan plan
	// reference is a run without a fault; nil for such a run.
	reference *run
	operator  *process
	said      chan said
	// effects are those of all operators, in order.
	effects []string
	struck  bool
	crashes int
	// ends are the objects after each chapter, and took is how long all took.
	ends []string
	took time.Duration
}

// tell tells the story with a fault, and returns what became of it.
func tell(t *testing.T, p plan, reference *run) *run {
	t.Helper()
	r := &run{world: newWorld(t), plan: p, reference: reference, said: make(chan said, 100)}
	spec := operatorSpec{Host: r.proxy.server.URL, Namespace: r.namespace}
	if p.arm != nil {
		p.arm(r, &spec)
	}
	r.start(spec)
	t.Cleanup(func() {
		r.operator.kill()
		if t.Failed() {
			t.Logf("the operator's log:\n%s", r.operator.log)
		}
	})
	spec.Strike, spec.Elected = nil, false // of the operators after this one
	began := time.Now()
	for i := range story {
		story[i].begin(r.world)
		if !r.settle(i, spec) {
			break
		}
	}
	r.took = time.Since(began)
	r.stop()
	return r
}

// stop ends the operator in order.
func (r *run) stop() {
	r.operator.terminate()
	for {
		select {
		case line := <-r.said:
			r.hear(line)
		case <-r.operator.ended:
			if state := r.operator.command.ProcessState; !state.Success() {
				r.breaks(fmt.Sprintf("the operator ended with %s", state))
			}
			return
		}
	}
}

func (r *run) start(spec operatorSpec) {
	r.t.Helper()
	operator, err := start(spec, func(_ *process, line said) { r.said <- line })
	r.must(err)
	r.mu.Lock()
	r.operator = operator
	r.mu.Unlock()
}

// settle waits until a chapter has ended as without a fault, and the operator is idle. An
// operator that ends is started again, as by a kubelet.
func (r *run) settle(i int, next operatorSpec) bool {
	r.t.Helper()
	ctx, cancel := context.WithTimeoutCause(r.t.Context(), patience, errors.New("in vain"))
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for {
		select {
		case line := <-r.said:
			r.hear(line)
		case <-r.operator.ended:
			if !r.restart(next) {
				return false
			}
		case <-ticker.C:
			_, _, last := r.proxy.counts()
			if time.Since(began) < quiet || time.Since(last) < quiet || !r.ended(ctx, story[i]) {
				continue
			}
			if end := r.objects(ctx); r.reference == nil || end == r.reference.ends[i] {
				r.ends = append(r.ends, end)
				return true
			}
		case <-ctx.Done():
			r.breaks(r.otherwise(i))
			return false
		}
	}
}

// otherwise states how a chapter has not ended in time.
func (r *run) otherwise(i int) string {
	end := r.objects(r.t.Context())
	if r.reference != nil {
		end = difference(r.reference.ends[i], end)
	}
	return fmt.Sprintf("after %s, the pod is not %s and the operator idle, but there is\n%s", patience, story[i].name, end)
}

func (r *run) ended(ctx context.Context, c chapter) bool {
	if err := r.garbageCollect(ctx); err != nil {
		return false
	}
	return c.ended(ctx, r.world)
}

func (r *run) hear(line said) {
	if line.Effect != "" {
		r.effects = append(r.effects, line.Effect)
	}
	if line.Struck {
		r.struck = true
		if r.plan.meanwhile != nil {
			r.plan.meanwhile(r.world)
		}
		r.operator.resume()
	}
}

// restart starts the next operator after one that has ended.
func (r *run) restart(spec operatorSpec) bool {
	r.t.Helper()
	if r.crashes++; r.crashes > r.plan.crashes {
		r.breaks(fmt.Sprintf("the operator ended by itself (%s):\n%s", r.operator.command.ProcessState, r.operator.log))
		return false
	}
	lease := &coordinationv1.Lease{ObjectMeta: r.named("jmx-exporter-operator")}
	r.must(client.IgnoreNotFound(admin.Delete(r.t.Context(), lease))) // the other replica is gone
	r.start(spec)
	return true
}

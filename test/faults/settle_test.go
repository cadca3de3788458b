package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settle waits until a step has ended as without a fault, and the operator is idle. An
// operator that ends is started again, as by a kubelet.
func (r *run) settle(i int, next operatorSpec) bool {
	r.t.Helper()
	ctx, cancel := context.WithTimeoutCause(r.t.Context(), r.stepTimeout(), errors.New("timeout"))
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for {
		select {
		case line := <-r.messages:
			r.handle(line)
		case <-r.operator.ended:
			if !r.restart(next) {
				return false
			}
		case <-ticker.C:
			if len(r.checkJVMs()) > 0 {
				return false
			}
			if !r.idle(began) {
				continue
			}
			if r.plan.ends != nil && r.strikes > 0 {
				if r.plan.ends(r, ctx) {
					return false
				}
			} else if r.ended(ctx, i) {
				return true
			}
		case <-r.over:
			r.mend()
		case task := <-r.tasks:
			task()
		case <-ctx.Done():
			r.breaks(r.otherwise(i, began))
			return false
		}
	}
}

// idle reports whether the fault is over, and the operator has nothing to do.
func (r *run) idle(began time.Time) bool {
	_, _, last := r.proxy.counts()
	return r.over == nil && time.Since(began) >= quiet && time.Since(last) >= quiet
}

// otherwise states how a step has not ended in time.
func (r *run) otherwise(i int, began time.Time) string {
	what := "the pod is not " + scenario[i].name + " as without a fault"
	if !r.idle(began) {
		what = "the operator is not idle"
	}
	end := r.objects(r.t.Context())
	if want := r.expected(i); want != "" {
		end = difference(want, end)
	}
	return fmt.Sprintf("after %s, %s; there is\n%s", r.stepTimeout(), what, end)
}

// ended reports whether a step has ended as without a fault.
func (r *run) ended(ctx context.Context, i int) bool {
	if r.garbageCollect(ctx) != nil || !scenario[i].ended(ctx, r.world) {
		return false
	}
	end, want := r.objects(ctx), r.expected(i)
	if want != "" && want != end {
		return false
	}
	r.ends, r.marks = append(r.ends, end), append(r.marks, r.total())
	return true
}

// expected returns the end of a step without a fault; empty if any is right.
func (r *run) expected(i int) string {
	switch {
	case r.plan.previous != nil && r.crashes == 0:
		return r.plan.previous.ends[i]
	case r.reference != nil:
		return r.reference.ends[i]
	}
	return ""
}

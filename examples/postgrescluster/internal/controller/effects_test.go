package controller

// idles reconciles so many times, and asserts that nothing is done.
func (w *world) idles(times int, while string) {
	w.t.Helper()
	w.did = nil
	for range times {
		w.reconcile()
	}
	if len(w.did) > 0 {
		w.t.Errorf("%s, it does %q", while, w.did)
	}
}

// retries asserts that an effect takes place in each of the next few reconciles less and less often:
// in so many, which are as many seconds, two to six times.
func (w *world) retries(times int, effect, while string) {
	w.t.Helper()
	w.did = nil
	for range times {
		w.reconcile()
	}
	if tries := w.count(func(what string) bool { return what == effect }); tries < 2 || tries > 6 {
		w.t.Errorf("%s: %q took place %d times in %d s; want 2 to 6", while, effect, tries, times)
	}
}

// count returns how many effects there were of a kind.
func (w *world) count(is func(what string) bool) int {
	n := 0
	for _, what := range w.did {
		if is(what) {
			n++
		}
	}
	return n
}

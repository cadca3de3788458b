//go:build linux

package main

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// turnName is the name of an exporter without pods, of the same namespace as all others.
const turnName = "turn"

// turns changes an exporter without pods again and again, until stop is called, which
// returns the longest time until its status knew of a change: until it had its turn.
func (w *world) turns(ctx context.Context) (stop func() (time.Duration, error), err error) {
	e := exporter(w.namespaces[0], turnName)
	if err := w.client.Create(ctx, e); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	type longest struct {
		time.Duration
		error
	}
	ended := make(chan longest, 1)
	go func() {
		var l longest
		for begin := time.Now(); l.error == nil && ctx.Err() == nil; {
			if l.error = w.client.Get(ctx, client.ObjectKeyFromObject(e), e); l.error != nil {
				break
			}
			l.Duration = max(l.Duration, time.Since(begin)) // also while it waits
			if e.Status.ObservedGeneration < e.Generation {
				_ = pause(ctx, 20*time.Millisecond)
				continue
			}
			_ = pause(ctx, 3*time.Second)
			before := e.DeepCopy()
			e.Spec.Port = 9400 + (e.Spec.Port+1)%100
			begin = time.Now()
			l.error = w.client.Patch(ctx, e, client.MergeFrom(before))
		}
		ended <- l
	}()
	return sync.OnceValues(func() (time.Duration, error) {
		cancel()
		l := <-ended
		if ctx.Err() != nil { // it was stopped
			l.error = nil
		}
		return l.Duration, l.error
	}), nil
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

// result is what was measured with a fleet.
type result struct {
	size
	// HeapPod and HeapRecord are the bytes in memory for a pod that no exporter selects, and
	// what the record of an attached one adds.
	HeapPod, HeapRecord float64
	Cold, Reconfigured  work
	// Turn is the longest wait of an exporter for its turn during both, in seconds.
	Turn float64
	// IdleRequests are those of 20 s in which nothing happens, and IdleCPU is the CPU time of
	// these, in seconds.
	IdleRequests int64
	IdleCPU      float64
	// RestartCPU is the CPU time in seconds, the median of some restarts of one pod.
	RestartCPU float64
	// Started is the time from the start of an operator until it has attached to a container
	// that was started before, in seconds; the work of the start is of all pods.
	Started float64
	Start   work
}

// work is what something costs, for all pods.
type work struct {
	Seconds, CPU float64
	Requests     map[string]int64
	Reconciles   map[string]float64
}

func between(before, after state, took time.Duration) work {
	w := work{took.Seconds(), after.CPUSeconds - before.CPUSeconds, map[string]int64{}, map[string]float64{}}
	for kind, n := range after.Requests {
		if n > before.Requests[kind] {
			w.Requests[kind] = n - before.Requests[kind]
		}
	}
	for controller, n := range after.Reconciles {
		w.Reconciles[controller] = n - before.Reconciles[controller]
	}
	return w
}

const (
	rules      = "rules:\n- pattern: '.*'\n"
	otherRules = "lowercaseOutputName: true\n" + rules
)

// bench measures with one fleet.
type bench struct {
	*world
	*operator
	result
	profiles string
	// state is the one after the last measurement.
	state state
	// revision is the one that all pods have.
	revision string
}

func measure(ctx context.Context, s size, profiles string) (r result, err error) {
	w, err := newWorld(ctx, s, namespaces[:1])
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return r, err
	}
	b := &bench{world: w, profiles: profiles, result: result{size: s}}
	for _, phase := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"pods without an exporter", b.cache}, {"attach", b.cold}, {"nothing happens", b.nothing},
		{"reconfigure", b.reconfigure}, {"one pod restarts", b.restartOne}, {"the operator restarts", b.restartOperator},
	} {
		fmt.Fprintf(os.Stderr, "%s: %s\n", s, phase.name)
		if err := phase.do(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return b.result, b.stop()
}

// cache measures what a pod costs that no exporter selects.
func (b *bench) cache(ctx context.Context) (err error) {
	if b.operator, err = b.start(ctx, usualQPS, shard.Shard{}); err != nil {
		return err
	}
	if _, err = b.idle(ctx); err != nil {
		return err
	}
	empty, err := b.operator.state(ctx, true)
	if err != nil {
		return err
	}
	if err := errors.Join(b.run(ctx), b.configure(ctx, rules), pause(ctx, 5*time.Second)); err != nil {
		return err
	}
	b.state, err = b.operator.state(ctx, true)
	b.HeapPod = (float64(b.state.Heap) - float64(empty.Heap)) / float64(b.all())
	return err
}

// cold measures the first attach to all pods.
func (b *bench) cold(ctx context.Context) error {
	before := b.state.Heap
	err := b.rollOut(ctx, "cold", &b.Cold, b.export)
	b.HeapRecord = perPod(b.size, float64(b.state.Heap)-float64(before))
	return err
}

// reconfigure measures a new configuration of all pods.
func (b *bench) reconfigure(ctx context.Context) error {
	return b.rollOut(ctx, "reconfigured", &b.Reconfigured, func(ctx context.Context) error { return b.configure(ctx, otherRules) })
}

// rollOut measures a change until all pods have it.
func (b *bench) rollOut(ctx context.Context, name string, cost *work, change func(context.Context) error) error {
	stop, err := b.turns(ctx)
	if err != nil {
		return err
	}
	defer func() { _, _ = stop() }()
	saved := b.profile(ctx, name)
	begin := time.Now()
	if err := change(ctx); err != nil {
		return err
	}
	if b.revision, err = b.updated(ctx, b.revision); err != nil {
		return err
	}
	took := time.Since(begin)
	turn, err := stop()
	if err := errors.Join(err, b.client.Delete(ctx, exporter(b.namespaces[0], turnName))); err != nil {
		return err
	}
	b.Turn = max(b.Turn, turn.Seconds())
	if _, err := b.idle(ctx); err != nil {
		return err
	}
	after, err := b.operator.state(ctx, true)
	if err != nil {
		return err
	}
	*cost = between(b.state, after, took)
	b.state = after
	return errors.Join(<-saved, b.saveHeap(ctx, name))
}

// nothing measures what the operator does while nothing happens.
func (b *bench) nothing(ctx context.Context) error {
	before, err := b.operator.state(ctx, false)
	if err != nil {
		return err
	}
	if err := pause(ctx, 20*time.Second); err != nil {
		return err
	}
	after, err := b.operator.state(ctx, false)
	b.IdleRequests, b.IdleCPU = after.requests()-before.requests(), after.CPUSeconds-before.CPUSeconds
	return err
}

// restartOne measures the restart of one container.
func (b *bench) restartOne(ctx context.Context) error {
	saved := b.profile(ctx, "restart")
	var costs []float64
	for i := range 5 {
		before, err := b.operator.state(ctx, false)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := errors.Join(b.restart(ctx, i), b.reattached(ctx, i)); err != nil {
			return err
		}
		after, err := b.idle(ctx)
		if err != nil {
			return err
		}
		costs = append(costs, after.CPUSeconds-before.CPUSeconds-b.IdleCPU/20*time.Since(begin).Seconds())
		b.state = after
	}
	b.RestartCPU = report.Median(costs)
	return <-saved
}

// restartOperator measures the start of an operator whose pods are attached, while one of
// them needs it.
func (b *bench) restartOperator(ctx context.Context) error {
	err := b.stop()
	if err == nil {
		err = b.restart(ctx, b.Pods-1)
	}
	if err == nil {
		b.operator, err = b.start(ctx, usualQPS, shard.Shard{})
	}
	if err != nil {
		return err
	}
	saved := b.profile(ctx, "start")
	if err := b.reattached(ctx, b.Pods-1); err != nil {
		return err
	}
	b.Started = time.Since(b.started).Seconds()
	after, err := b.idle(ctx)
	b.Start = between(state{}, after, time.Since(b.started))
	return errors.Join(err, <-saved)
}

// profile saves 30 s of CPU time, if profiles are wanted.
func (b *bench) profile(ctx context.Context, name string) <-chan error {
	saved := make(chan error, 1)
	if b.profiles == "" {
		saved <- nil
		return saved
	}
	go func() { saved <- b.save(ctx, "/profile?seconds=30", b.file(name, "cpu")) }()
	return saved
}

func (b *bench) saveHeap(ctx context.Context, name string) error {
	if b.profiles == "" {
		return nil
	}
	return errors.Join(b.save(ctx, "/heap", b.file(name, "heap")), b.save(ctx, "/goroutine", b.file(name, "goroutine")))
}

func (b *bench) file(name, kind string) string {
	return filepath.Join(b.profiles, fmt.Sprintf("%d-%d-%s.%s.pprof", b.Pods, b.Exporters, name, kind))
}

func perPod[T ~int64 | ~float64](s size, total T) float64 { return float64(total) / float64(s.Pods) }

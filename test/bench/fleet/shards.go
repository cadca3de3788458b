//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

// sharedQPS is the limit of requests of each operator where one is compared with two: a fifth of
// the usual one, so that it is what limits them, as where the API server has a machine of its own.
const sharedQPS = usualQPS / 5

// sharing is what two shards are compared by.
type sharing struct {
	Pods int
	// One and Two are the seconds that one operator, and two that share the namespaces, need for
	// the first attach to all pods.
	One, Two float64
}

// wantedRatio is how many times as fast two shards have to be.
const wantedRatio = 1.8

func (s sharing) ratio() float64 { return s.One / s.Two }

// measureShards compares one operator with two. The pods are divided between two namespaces.
func measureShards(ctx context.Context, pods int) (s sharing, err error) {
	s.Pods = pods
	if s.One, err = attachBy(ctx, pods, 1); err == nil {
		s.Two, err = attachBy(ctx, pods, 2)
	}
	return s, err
}

// attachBy returns the seconds that some shards need for the first attach.
func attachBy(ctx context.Context, pods, shards int) (seconds float64, err error) {
	fleet := size{Pods: pods, Exporters: 1}
	fmt.Fprintf(os.Stderr, "%d pods in %d namespaces, %d shards: attach\n", pods, len(namespaces), shards)
	w, err := newWorld(ctx, fleet, namespaces)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(w.run(ctx), w.configure(ctx, rules)); err != nil {
		return 0, err
	}
	for i := range shards {
		o, err := w.start(ctx, sharedQPS, shard.Shard{Index: i, Total: shards})
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, o.stop()) }()
		if _, err := o.idle(ctx); err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	if err := w.export(ctx); err != nil {
		return 0, err
	}
	if _, err := w.updated(ctx, ""); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	return took.Seconds(), w.loadedOnce()
}

// loadedOnce returns an error for a pod into whose JVM the agent was not loaded exactly once.
func (w *world) loadedOnce() error {
	for _, pod := range w.pods[:w.fleet.Pods] {
		if loads := w.containers.Get(pod.UID, containerName).JVMs[0].Loads; loads != 1 {
			return fmt.Errorf("the agent is loaded %d times into the JVM of %s", loads, pod.Name)
		}
	}
	return nil
}

// text is the comparison for the page.
func (s sharing) text() string {
	if s.Pods == 0 {
		return ""
	}
	return fmt.Sprintf("\nTwo shards attach to %d pods, half of them in each of two namespaces, %.2f times as fast as one operator (%.0f instead of %.0f s; goal ≥ %.1f: %s), and load each agent once. Each operator is limited to %d requests per second for each kind here, instead of %d, so that this limit is compared, and not the machine that all share.\n",
		s.Pods, s.ratio(), s.Two, s.One, wantedRatio, report.Verdict(s.ratio() >= wantedRatio), sharedQPS, usualQPS)
}

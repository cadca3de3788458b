package main

import (
	"context"
	"math"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitMemory(t *testing.T) {
	type step struct{ limit, want int64 } // 0 is none, a minute each
	const none = math.MaxInt64
	for name, tc := range map[string]struct {
		env   string
		steps []step
	}{
		"the container has a limit":     {steps: []step{{500 << 20, 450 << 20}, {500 << 20, 450 << 20}}},
		"the container has no limit":    {steps: []step{{0, none}}},
		"the container is resized":      {steps: []step{{500 << 20, 450 << 20}, {1000 << 20, 900 << 20}, {200 << 20, 180 << 20}}},
		"the environment has the limit": {env: "300MiB", steps: []step{{500 << 20, none}}}, // read before main
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", tc.env)
			before := debug.SetMemoryLimit(math.MaxInt64)
			defer debug.SetMemoryLimit(before)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var limit atomic.Int64
				limit.Store(tc.steps[0].limit)
				go limitMemory(ctx, func(int) (int64, bool) { return limit.Load(), limit.Load() > 0 })
				for i, step := range tc.steps {
					limit.Store(step.limit)
					time.Sleep(time.Minute)
					synctest.Wait()
					if got, rounding := debug.SetMemoryLimit(-1), int64(100); got > step.want || got < step.want-rounding {
						t.Errorf("memory limit in minute %d: got %d, want %d", i, got, step.want)
					}
				}
			})
		})
	}
}

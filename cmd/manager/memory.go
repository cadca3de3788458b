package main

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

// memoryShare is the share of the container's memory limit that the Go runtime may use, in
// percent. The rest is for what it does not count, such as the pages of the binary and the
// buffers of connections, and for a heap that grows while it is collected.
const memoryShare = 90

// limitMemory makes the runtime collect garbage sooner near the container's memory limit, until
// ctx is done: otherwise the heap may reach twice the size of what is live, and the kernel kills
// the operator. The limit is that of the control group, whoever sets it: another overlay, a
// LimitRange, or an autoscaler, which resizes the container while it runs. GOMEMLIMIT, if set,
// takes precedence.
func limitMemory(ctx context.Context, limitOf func(pid int) (limit int64, limited bool)) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	wait.UntilWithContext(ctx, func(context.Context) {
		bytes, limited := limitOf(os.Getpid())
		if bytes = bytes / 100 * memoryShare; !limited {
			bytes = math.MaxInt64 // Go's default
		}
		if debug.SetMemoryLimit(bytes) != bytes {
			ctrl.Log.WithName("manager").Info("limited the memory of the Go runtime", "bytes", bytes)
		}
	}, time.Minute)
}

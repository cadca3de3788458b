package integration

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// counted counts requests.
type counted struct {
	http.RoundTripper
	requests *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// heap returns the process's live heap in MiB: the operator's and the test's.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20
}

// Every pod of a big fleet gets its JmxAttachment and is Annotated, and the exporter's
// status counts all of them. The cost is only logged. There are 100 pods, 1 000 with
// FULL=1, or PODS.
func TestBigFleet(t *testing.T) {
	t.Parallel()
	n := 100
	if full() {
		n = 1000
	}
	if pods, err := strconv.Atoi(os.Getenv("PODS")); err == nil {
		n = pods
	}
	c := newCluster(t)
	begin := time.Now()
	pods := c.runAll(n, 100, func(int) bool { return false })
	t.Logf("%d pods were created in %s; the heap is %d MiB", n, time.Since(begin), heap())

	var requests atomic.Int64
	as := asInCluster()
	as.QPS = -1
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &requests} })
	c.startManager(as)
	begin = time.Now()
	exporter := c.exportOpen()
	within(t, time.Hour, func() bool {
		var records v1alpha1.JmxAttachmentList
		c.list(&records, client.Limit(1)) // the answer says how many more there are
		return ptr.Deref(records.RemainingItemCount, 0) == int64(n-1)
	})
	t.Logf("all JmxAttachments exist after %s and %d requests; the heap is %d MiB", time.Since(begin), requests.Load(), heap())
	within(t, time.Hour, func() bool {
		get(t, exporter)
		return exporter.Status.Pods == fmt.Sprintf("%d/%d", n, n)
	})
	t.Logf("all pods are Annotated after %s and %.1f requests per pod; the heap is %d MiB", time.Since(begin), float64(requests.Load())/float64(n), heap())
	if got := len(exporter.Status.MetricsEndpoints); got != min(n, 1000) {
		t.Errorf("status.metricsEndpoints has %d entries, want one per pod and at most 1000", got)
	}
	if a := c.attachment(pods[n-1]); phaseOf(a) != isAnnotated {
		t.Errorf("phase of %s: got %q, want %q", pods[n-1].Name, phaseOf(a), isAnnotated)
	}
}

// within waits longer than eventually.
func within(t *testing.T, limit time.Duration, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the condition was not met within %s", limit)
		}
	}
}

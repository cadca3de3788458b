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

// counted counts the requests that pass.
type counted struct {
	http.RoundTripper
	requests *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// heap is what the process keeps, in MiB: the operator, and what the test imagines.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20
}

// Every pod of a big fleet gets its record and is Annotated, by an exporter whose
// status counts them all. What that takes is only said. There are 100 pods, 1 000 with
// FULL=1, or PODS.
func TestBigFleet(t *testing.T) {
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
	t.Logf("%d pods were made in %s; the heap has %d MiB", n, time.Since(begin), heap())

	var requests atomic.Int64
	as := asInCluster()
	as.QPS = -1
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &requests} })
	c.startManager(as)
	begin = time.Now()
	exporter := c.exportOpen()
	within(t, time.Hour, func() bool {
		var records v1alpha1.JmxAttachmentList
		c.list(&records, client.Limit(1)) // and says how many more there are
		return ptr.Deref(records.RemainingItemCount, 0) == int64(n-1)
	})
	t.Logf("all records are there after %s and %d requests; the heap has %d MiB", time.Since(begin), requests.Load(), heap())
	within(t, time.Hour, func() bool {
		get(t, exporter)
		return exporter.Status.Pods == fmt.Sprintf("%d/%d", n, n)
	})
	t.Logf("all are Annotated after %s and %.1f requests a pod; the heap has %d MiB", time.Since(begin), float64(requests.Load())/float64(n), heap())
	if got := len(exporter.Status.MetricsEndpoints); got != min(n, 1000) {
		t.Errorf("the status lists %d endpoints", got)
	}
	if a := c.attachment(pods[n-1]); phaseOf(a) != isAnnotated {
		t.Errorf("the last one is %s", phaseOf(a))
	}
}

// within waits longer than eventually, and asks less often.
func within(t *testing.T, limit time.Duration, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("what was waited for did not come about within %s", limit)
		}
	}
}

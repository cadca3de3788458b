package exporter

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// lagging is a cache that has one resource version of every object, or none.
type lagging struct {
	client.Reader
	resourceVersion string
	uid             types.UID
}

func (l lagging) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if l.resourceVersion == "" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	object.SetResourceVersion(l.resourceVersion)
	object.SetUID(l.uid)
	return nil
}

// What the cache lacks of the exporter's writes is known without waiting, and for a limited
// time.
func TestBehind(t *testing.T) {
	record := func() client.Object {
		return &v1alpha1.JmxAttachment{ObjectMeta: metav1.ObjectMeta{Name: "app-0", ResourceVersion: "10"}}
	}
	slice := func() client.Object {
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice", UID: "a", ResourceVersion: "10"}}
	}
	for name, tc := range map[string]struct {
		reader          client.Reader
		write           write
		later           time.Duration
		records, others bool
	}{
		"the cache has it":               {reader: cached.Reader{Reader: lagging{resourceVersion: "10"}}, write: write{Object: record()}},
		"the cache is newer":             {reader: cached.Reader{Reader: lagging{resourceVersion: "11"}}, write: write{Object: record()}},
		"the cache is older":             {reader: cached.Reader{Reader: lagging{resourceVersion: "9"}}, write: write{Object: record()}, records: true},
		"the cache does not have it":     {reader: cached.Reader{Reader: lagging{}}, write: write{Object: record()}, records: true},
		"it was deleted meanwhile":       {reader: cached.Reader{Reader: lagging{}}, write: write{Object: record()}, later: lag},
		"a slice is older":               {reader: cached.Reader{Reader: lagging{resourceVersion: "9"}}, write: write{Object: slice()}, others: true},
		"a deleted slice is still there": {reader: cached.Reader{Reader: lagging{resourceVersion: "10", uid: "a"}}, write: write{Object: slice(), deleted: true}, others: true},
		"a deleted slice is gone":        {reader: cached.Reader{Reader: lagging{}}, write: write{Object: slice(), deleted: true}},
		"a deleted slice was made anew":  {reader: cached.Reader{Reader: lagging{resourceVersion: "11", uid: "b"}}, write: write{Object: slice(), deleted: true}},
		"the reader is no cache":         {reader: lagging{}, write: write{Object: record()}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(1_000_000_000, 0))
			var w written
			exporter := types.NamespacedName{Name: "exporter"}
			if records, others := w.behind(t.Context(), tc.reader, exporter, clock); records || others {
				t.Error("the cache lacks something before anything was written")
			}
			tc.write.at = clock.Now()
			w.note(exporter, tc.write)
			clock.SetTime(clock.Now().Add(tc.later))
			records, others := w.behind(t.Context(), tc.reader, exporter, clock)
			if records != tc.records || others != tc.others {
				t.Errorf("behind: got %t for records and %t for others, want %t and %t", records, others, tc.records, tc.others)
			}
			if left := len(w.of[exporter]); left > 0 != (records || others) {
				t.Errorf("writes that are remembered: %d", left)
			}
		})
	}
}

// While the cache lacks a record, none is granted; while it lacks a slice, none is written.
// Everything else goes on.
func TestDecideBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		records, endpoints bool
		grants             int
		publishes          bool
	}{
		"nothing is missing":  {grants: 1, publishes: true},
		"a record is missing": {records: true, publishes: true},
		"a slice is missing":  {endpoints: true, grants: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fleet{exporter: &v1alpha1.PrometheusJmxExporter{}, recordsBehind: tc.records, endpointsBehind: tc.endpoints}
			f.exporter.Name = "exporter"
			pod := &corev1.Pod{}
			pod.Name, pod.UID = "app-0", "uid-0"
			f.members = []member{{pod: pod}}
			p := f.decide()
			if len(p.records) != tc.grants || (p.service != nil) != tc.publishes {
				t.Errorf("got %d records and a Service: %t, want %d and %t", len(p.records), p.service != nil, tc.grants, tc.publishes)
			}
			if behind := tc.records || tc.endpoints; behind && p.again != enqueue.ConflictRetry {
				t.Errorf("the next reconcile follows after %s, want %s", p.again, enqueue.ConflictRetry)
			}
		})
	}
}

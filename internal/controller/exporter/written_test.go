package exporter

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
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
		"it was deleted meanwhile":       {reader: cached.Reader{Reader: lagging{}}, write: write{Object: record()}, later: missing},
		"the watch is broken":            {reader: cached.Reader{Reader: lagging{resourceVersion: "9"}}, write: write{Object: record()}, later: missing, records: true},
		"etcd was restored":              {reader: cached.Reader{Reader: lagging{resourceVersion: "9"}}, write: write{Object: record()}, later: stale},
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
			if behind := tc.records || tc.endpoints; behind && p.again != recheck {
				t.Errorf("the next reconcile follows after %s, want %s", p.again, recheck)
			}
		})
	}
}

// behindAtFirst is a cache that has all that was written once pods are listed.
type behindAtFirst struct {
	*cache
	caughtUp bool
}

// Get implements client.Reader.
func (b *behindAtFirst) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := b.cache.Get(ctx, key, object, options...)
	if _, isRecord := object.(*v1alpha1.JmxAttachment); isRecord {
		object.SetResourceVersion("99")
		if b.caughtUp {
			object.SetResourceVersion("100")
		}
	}
	return err
}

// List implements client.Reader.
func (b *behindAtFirst) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		b.caughtUp = true
	}
	return b.cache.List(ctx, list, options...)
}

// A cache that catches up between two lists has shown an old one.
func TestObserveBehind(t *testing.T) {
	b := &behindAtFirst{cache: &cache{}}
	b.fill("small", 2)
	r := b.reconciler()
	r.Reader = cached.Reader{Reader: b}
	exporter, granted := b.objects[0].(*v1alpha1.PrometheusJmxExporter), b.objects[2].(*v1alpha1.JmxAttachment)
	r.written.note(client.ObjectKeyFromObject(exporter), write{at: now, Object: &v1alpha1.JmxAttachment{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: granted.Name, ResourceVersion: "100"},
	}})
	f, err := r.observe(t.Context(), exporter)
	if err != nil {
		t.Fatal(err)
	}
	if !f.recordsBehind {
		t.Error("the records that were listed lack a grant, and nobody knows")
	}
}

// denying is an API server that denies every deletion.
type denying struct{ accepting }

// GroupVersionKindFor implements client.Client.
func (denying) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), nil
}

// Delete implements client.Client.
func (denying) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "slice", errors.New("denied by a webhook"))
}

// A slice that cannot be deleted is not waited for: others are written meanwhile.
func TestDeniedDeletion(t *testing.T) {
	b := &cache{}
	b.fill("small", 1)
	r := b.reconciler()
	r.Reader, r.Writer = cached.Reader{Reader: lagging{resourceVersion: "10", uid: "a"}}, records.New(apply.New(denying{}, effects.Direct))
	exporter := b.objects[0].(*v1alpha1.PrometheusJmxExporter)
	left := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "slice", UID: "a", ResourceVersion: "10"}}
	f := &fleet{exporter: exporter, slices: []discoveryv1.EndpointSlice{left}}
	if err := r.writeSlice(t.Context(), f, slice{name: "slice"}); err == nil {
		t.Fatal("the deletion was not denied")
	}
	if _, others := r.written.behind(t.Context(), r.Reader, client.ObjectKeyFromObject(exporter), r.Clock); others {
		t.Error("the operator waits until the cache lacks what nobody deleted")
	}
}

// hangingService is a cache in which each Get of a Service that waits for the operator's own
// writes fails, as it does in the end while such a write hangs.
type hangingService struct{ *cache }

// Get implements client.Reader.
func (h hangingService) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	o := (&client.GetOptions{}).ApplyOptions(options)
	if _, service := object.(*corev1.Service); service && !o.DisableReadYourWritesConsistency {
		return context.DeadlineExceeded
	}
	return h.cache.Get(ctx, key, object, options...)
}

// A write of the Service that hangs keeps no status and no grant.
func TestObserveBesideAHangingWrite(t *testing.T) {
	b := &cache{}
	b.fill("small", 1)
	r := b.reconciler()
	r.Reader = cached.Reader{Reader: hangingService{b}}
	f, err := r.observe(t.Context(), b.objects[0].(*v1alpha1.PrometheusJmxExporter))
	if err != nil {
		t.Fatal(err)
	}
	if f.unread != nil {
		t.Errorf("the Service was read with a wait: %v", f.unread)
	}
}

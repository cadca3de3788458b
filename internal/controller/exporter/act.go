package exporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// A reconcile writes a limited batch of records, for at most batchTime: the first
// records of a large fleet take longer than a reconcile may, and the status would not be
// updated meanwhile, nor would other exporters have their turn (TestTurns).
const (
	batch     = 200
	batchTime = 2 * time.Second
	writers   = 8 // records written at once: most of a write is the API server's time
)

// act writes what was planned. Records come late: what a pod is granted is kept by then, and
// the endpoints of a record that is taken over are published. A failure does not stop other
// writes, and what cannot be kept is no failure. It returns the time after which to write
// what is left; 0 if nothing is.
func (r *Reconciler) act(ctx context.Context, f *fleet, p plan) (again time.Duration, failure error) {
	k := r.kept.get(f.exporter, f.granted)
	published := r.publish(ctx, f, p)
	writeAgain := r.attempt(f, &k.writes, p.revisions.keep, func() error { return r.keep(ctx, f, k, p.revisions) })
	again, err := r.writeRecords(ctx, f, p.records)
	again = enqueue.Earliest(again, writeAgain)
	if !f.recordsBehind { // otherwise it is not known whether any is unused
		again = enqueue.Earliest(again, r.attempt(f, &k.deletes, p.revisions.prune, func() error { return r.prune(ctx, f, k, p.revisions) }))
	}
	return again, errors.Join(published, err)
}

// publish writes the Service and its EndpointSlices.
func (r *Reconciler) publish(ctx context.Context, f *fleet, p plan) error {
	if p.obstacle != nil {
		return p.obstacle
	}
	if p.service != nil {
		if err := r.Writer.Service(ctx, p.service); err != nil {
			return err
		}
		r.note(f, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: *p.service.GetName()}}, p.service.ResourceVersion)
	}
	var failed []error
	for _, s := range p.slices {
		failed = append(failed, r.writeSlice(ctx, f, s)) // one that cannot be written keeps no other
	}
	return errors.Join(failed...)
}

func (r *Reconciler) writeSlice(ctx context.Context, f *fleet, s slice) error {
	was := find(f.slices, s.name)
	switch {
	case len(s.endpoints) == 0:
		if err := r.Writer.Delete(ctx, was); err != nil {
			return err
		}
		r.written.note(client.ObjectKeyFromObject(f.exporter), write{Object: was.DeepCopy(), deleted: true, at: r.Clock.Now()})
		return nil
	case !s.changed:
		return nil
	}
	if was == nil {
		var err error
		if s.name, err = r.unclaimed(ctx, f, s.name); err != nil {
			return err
		}
	}
	stated := sliceConfiguration(f.exporter, was, s)
	if err := r.Writer.EndpointSlice(ctx, stated); err != nil {
		return err
	}
	r.note(f, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: s.name}}, stated.ResourceVersion)
	return nil
}

// maxNames is how many names are tried for a new slice.
const maxNames = 16

// unclaimed returns a name for a new slice that no object of others has. What the plan calls one
// is no secret, so somebody may be there first.
func (r *Reconciler) unclaimed(ctx context.Context, f *fleet, name string) (string, error) {
	for n := range maxNames {
		try := name
		if n > 0 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		if find(f.slices, try) != nil { // it has other endpoints
			continue
		}
		var there discoveryv1.EndpointSliceList // by a list, for which the operator has the right
		if err := r.Live.List(ctx, &there, client.InNamespace(f.exporter.Namespace), client.MatchingFields{metav1.ObjectNameField: try}); err != nil {
			return "", err
		}
		if !slices.ContainsFunc(there.Items, func(s discoveryv1.EndpointSlice) bool { return !selection.OwnSlice(&s) }) {
			return try, nil
		}
	}
	return "", fmt.Errorf("EndpointSlices %[1]s and %[1]s-1 to %[1]s-%[2]d exist and are not the operator's; delete one of them", name, maxNames-1)
}

// note remembers an object of the exporter's namespace that was written.
func (r *Reconciler) note(f *fleet, object client.Object, resourceVersion *string) {
	object.SetNamespace(f.exporter.Namespace)
	object.SetResourceVersion(ptr.Deref(resourceVersion, ""))
	r.written.note(client.ObjectKeyFromObject(f.exporter), write{Object: object, at: r.Clock.Now()})
}

// writeRecords writes one batch of records; the next follows at once. A failed write does
// not affect other records.
func (r *Reconciler) writeRecords(ctx context.Context, f *fleet, due []grant) (again time.Duration, err error) {
	var (
		end              = r.Clock.Now().Add(batchTime)
		mutex            sync.Mutex // of what follows
		settled          = sync.NewCond(&mutex)
		written, writing int
		failed           []error
	)
	workqueue.ParallelizeUntil(ctx, writers, len(due), func(i int) {
		mutex.Lock()
		defer mutex.Unlock()
		for written < batch && written+writing == batch {
			settled.Wait() // what fails takes no place
		}
		if written == batch || !r.Clock.Now().Before(end) {
			again = time.Millisecond
			return
		}
		writing++
		err := func() error {
			mutex.Unlock()
			defer mutex.Lock()
			return r.writeRecord(ctx, f, due[i])
		}()
		writing--
		settled.Broadcast()
		switch {
		case err == nil:
			written++
		case !apply.IsGone(err):
			failed = append(failed, err)
		}
	})
	if written == 0 && len(failed) > 0 { // what only fails is tried again with backoff
		again = 0
	}
	return again, errors.Join(failed...)
}

func (r *Reconciler) writeRecord(ctx context.Context, f *fleet, g grant) error {
	var uid types.UID
	if g.attachment != nil {
		uid = g.attachment.UID
	}
	name := selection.AttachmentName(g.pod)
	resourceVersion, err := r.Writer.Attachment(ctx, uid, name, g.pod, f.exporter, g.revision)
	if err != nil {
		return err
	}
	r.note(f, &v1alpha1.JmxAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}, resourceVersion)
	return nil
}

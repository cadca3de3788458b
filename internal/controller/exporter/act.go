package exporter

import (
	"context"
	"errors"
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
	var kept, pruned error
	k := r.kept.get(f.exporter, f.granted)
	due := !r.Clock.Now().Before(k.next)
	published := r.publish(ctx, f, p)
	if due && p.revisions.keep != nil {
		kept = r.keep(ctx, f, k, p.revisions)
	}
	again, err := r.writeRecords(ctx, f, p.records)
	if due && p.revisions.prune {
		pruned = r.prune(ctx, f, k, p.revisions)
	}
	if due || p.revisions.keep == nil && !p.revisions.prune {
		r.tried(f, k, kept, pruned)
	}
	if k.failure != "" {
		again = enqueue.Earliest(again, max(k.next.Sub(r.Clock.Now()), time.Millisecond))
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
	stated := sliceConfiguration(f.exporter, was, s)
	if err := r.Writer.EndpointSlice(ctx, stated); err != nil {
		return err
	}
	r.note(f, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: s.name}}, stated.ResourceVersion)
	return nil
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

package exporter

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
)

// written holds what reconciles wrote, by exporter, until the cache has it. Lists may be
// older: a grant that is not seen would be made a second time, to another pod.
type written struct {
	mu sync.Mutex
	of map[types.NamespacedName][]write
}

// write is an object as it was written, or deleted.
type write struct {
	client.Object
	deleted bool
	at      time.Time
}

// lag is how long the cache may take. What it does not have then was deleted meanwhile.
const lag = 10 * time.Second

// behind reports whether the reader is a cache that lacks a record, or another object, that
// a reconcile of the exporter wrote. It does not wait.
func (w *written) behind(ctx context.Context, reader client.Reader, exporter types.NamespacedName, clock clock.PassiveClock) (records, others bool) {
	cache, ok := reader.(cached.Reader)
	if !ok {
		w.forget(exporter)
		return false, false
	}
	w.mu.Lock()
	writes := w.of[exporter]
	w.mu.Unlock()
	var left []write
	for _, o := range writes {
		if o.isIn(ctx, cached.Snapshot(cache)) || clock.Since(o.at) >= lag {
			continue
		}
		left = append(left, o)
		if _, isRecord := o.Object.(*v1alpha1.JmxAttachment); isRecord {
			records = true
		} else {
			others = true
		}
	}
	w.forget(exporter)
	for _, o := range left {
		w.note(exporter, o)
	}
	return records, others
}

// isIn reports whether a cache has the object as it was written, or no longer has it.
func (o write) isIn(ctx context.Context, cache client.Reader) bool {
	has := o.DeepCopyObject().(client.Object)
	err := cache.Get(ctx, client.ObjectKeyFromObject(o), has, client.UnsafeDisableDeepCopy)
	if o.deleted {
		return err != nil || has.GetUID() != o.GetUID()
	}
	return err == nil && !cached.Older(has.GetResourceVersion(), o.GetResourceVersion())
}

// note adds an object that was written, of which namespace, name and resource version count,
// or one that was deleted.
func (w *written) note(exporter types.NamespacedName, o write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[types.NamespacedName][]write{}
	}
	w.of[exporter] = append(w.of[exporter], o)
}

func (w *written) forget(exporter types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, exporter)
}

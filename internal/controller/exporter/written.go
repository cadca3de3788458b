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

// How long the cache may lack a write, which raises an event as soon as it has it. An object
// that is missing for longer was deleted meanwhile. A cache with an older state is behind
// until its watch works again, or forever if etcd was restored from a backup.
const (
	missing = 10 * time.Second
	stale   = 5 * time.Minute
)

// recheck is after how long it is looked again, for lack of an event.
const recheck = time.Second

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
		if !o.isMissed(ctx, cached.Snapshot(cache), clock.Since(o.at)) {
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

// isMissed reports whether a cache still lacks what was written, at this age.
func (o write) isMissed(ctx context.Context, cache client.Reader, age time.Duration) bool {
	has := o.DeepCopyObject().(client.Object)
	err := cache.Get(ctx, client.ObjectKeyFromObject(o), has, client.UnsafeDisableDeepCopy)
	switch {
	case err != nil:
		return !o.deleted && age < missing
	case o.deleted:
		return has.GetUID() == o.GetUID() && age < stale
	}
	return cached.Older(has.GetResourceVersion(), o.GetResourceVersion()) && age < stale
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

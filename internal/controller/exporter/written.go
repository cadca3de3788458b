package exporter

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
)

// written holds what reconciles wrote, by exporter. Lists may be older than that, and a grant
// that is not seen would be made a second time, to another pod.
type written struct {
	mu sync.Mutex
	of map[types.NamespacedName][]client.Object
}

// settleTimeout limits how long a reconcile waits for the cache.
const settleTimeout = 5 * time.Second

// settle returns when the reader, if it is a cache, has what the last reconciles of an
// exporter wrote.
func (w *written) settle(ctx context.Context, reader client.Reader, exporter types.NamespacedName) error {
	w.mu.Lock()
	objects := w.of[exporter]
	w.mu.Unlock()
	if cache, ok := reader.(cached.Reader); ok {
		ctx, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		if err := cache.Settle(ctx, objects); err != nil {
			return err
		}
	}
	w.forget(exporter)
	return nil
}

// note adds an object of which only namespace and name count.
func (w *written) note(exporter types.NamespacedName, object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[types.NamespacedName][]client.Object{}
	}
	w.of[exporter] = append(w.of[exporter], object)
}

func (w *written) forget(exporter types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, exporter)
}

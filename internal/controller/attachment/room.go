package attachment

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// Limits bounds the sessions under way, and announces room to the pods that found none.
type Limits interface {
	OnRoom(wake func(namespace, pod string))
}

// room is a source of events: a reconcile of each pod that waited for an exec, once
// there is room for one.
func (r *Reconciler) room() crsource.Source {
	return crsource.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.Limits.OnRoom(func(namespace, name string) {
			var pod corev1.Pod
			if enqueue.Get(ctx, r.Reader, client.ObjectKey{Namespace: namespace, Name: name}, &pod) == nil { // else it is gone
				q.Add(request(namespace, selection.AttachmentName(&pod)))
			}
		})
		return nil
	})
}

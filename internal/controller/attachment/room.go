package attachment

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// limitedProber probes the endpoints of a pod within the limit.
type limitedProber struct {
	probe.Prober
	limits Limits
	pod    *corev1.Pod
}

// Probe implements probe.Prober.
func (p limitedProber) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	done, err := p.limits.Probe(transport.Container{Namespace: p.pod.Namespace, Pod: p.pod.Name, Node: p.pod.Spec.NodeName})
	if err != nil {
		return err
	}
	defer done()
	return p.Prober.Probe(ctx, address, process)
}

// room is a source of events: a reconcile of each pod that waited for an exec or a
// probe, once there is capacity.
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

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

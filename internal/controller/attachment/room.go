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
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// limitedProber probes the endpoints of a pod within the limit.
type limitedProber struct {
	probe.Prober
	limits Limits
	in     transport.Container
}

// probedIn is the pod of a record as the limits count it.
func probedIn(of *corev1.Pod, attachment *v1alpha1.JmxAttachment) transport.Container {
	return transport.Container{
		Namespace: of.Namespace, Pod: of.Name, Node: of.Spec.NodeName,
		Origin: transport.Origin{Namespace: of.Namespace, Exporter: attachment.Spec.Exporter.Name},
	}
}

// Probe implements probe.Prober.
func (p limitedProber) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	done, err := p.limits.Probe(p.in)
	if err != nil {
		return err
	}
	defer done()
	return p.Prober.Probe(ctx, address, process)
}

// room is a source of events: a reconcile of each pod that waited for an exec or a
// probe, once there is capacity. A pod that is gone, or about to go, needs none. Nothing is
// kept for one whose request stays in the queue, since writes of its namespace hang.
func (r *Reconciler) room(stalls func(namespace string) bool) crsource.Source {
	return crsource.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		snapshot := cached.Snapshot{Reader: r.Reader}
		r.Limits.OnRoom(func(namespace, name string) (comes bool) {
			var pod corev1.Pod
			err := snapshot.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
			if err != nil || !pod.DeletionTimestamp.IsZero() {
				return false
			}
			q.Add(request(namespace, selection.AttachmentName(&pod)))
			return !stalls(namespace)
		})
		return nil
	})
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

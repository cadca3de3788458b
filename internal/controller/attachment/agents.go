package attachment

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// nodeAgent returns what is known of the node agent on a node.
func (r *Reconciler) nodeAgent(node string) steps.NodeAgent {
	if r.NodeAgents == nil || node == "" {
		return steps.NodeAgent{}
	}
	return r.NodeAgents.Agent(node)
}

// agentsReady is a source of events: a reconcile of each pod that a node agent may help, when
// that of its node becomes ready. Other pods choose their transport when they are visited next.
// It implements source.SyncingSource, so that the first visits know the node agents.
type agentsReady struct{ *Reconciler }

// Start implements source.Source.
func (a agentsReady) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	var mu sync.Mutex
	nodes, more := sets.New[string](), make(chan struct{}, 1)
	a.NodeAgents.Watch(ctx, func(node string) {
		mu.Lock()
		defer mu.Unlock()
		nodes.Insert(node)
		select {
		case more <- struct{}{}:
		default: // what takes the nodes has not begun
		}
	})
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
			mu.Lock()
			batch := nodes
			nodes = sets.New[string]()
			mu.Unlock()
			for _, request := range a.awaiting(ctx, batch) {
				q.Add(request)
			}
		}
	}()
	return nil
}

// WaitForSync implements source.SyncingSource. It never fails: without node agents, the
// operator uses other transports.
func (a agentsReady) WaitForSync(ctx context.Context) error {
	a.NodeAgents.Synced(ctx)
	return nil
}

// awaiting returns the attachments of the nodes that a node agent may help.
func (a agentsReady) awaiting(ctx context.Context, nodes sets.Set[string]) []reconcile.Request {
	var attachments v1alpha1.JmxAttachmentList
	if err := (cached.Snapshot{Reader: a.Reader}).List(ctx, &attachments, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list attachments")
		return nil
	}
	return enqueue.Matching(attachments.Items, func(record *v1alpha1.JmxAttachment) bool {
		return nodes.Has(record.Status.NodeName) && awaitsNodeAgent(&record.Status)
	})
}

// awaitsNodeAgent reports whether a node agent may end what keeps a pod from being attached
// to, or from being detached.
func awaitsNodeAgent(status *v1alpha1.JmxAttachmentStatus) bool {
	if steps.AwaitsNodeAgent(status.Reason) {
		return true
	}
	for _, p := range status.Processes {
		if steps.AwaitsNodeAgent(p.Reason) {
			return true
		}
	}
	return false
}

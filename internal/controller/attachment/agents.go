package attachment

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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
type agentsReady struct {
	*Reconciler
	clock clock.Clock
}

// Start implements source.Source.
func (a agentsReady) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	var mu sync.Mutex
	nodes, more := sets.New[string](), make(chan struct{}, 1)
	add := func(ready ...string) {
		mu.Lock()
		defer mu.Unlock()
		nodes.Insert(ready...)
		select {
		case more <- struct{}{}:
		default: // what takes the nodes has not begun
		}
	}
	a.NodeAgents.Watch(ctx, func(node string) { add(node) })
	take := func() sets.Set[string] {
		mu.Lock()
		defer mu.Unlock()
		batch := nodes
		nodes = sets.New[string]()
		return batch
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
			select { // until the cache has what was persisted before, and more nodes have come
			case <-ctx.Done():
				return
			case <-a.clock.After(enqueue.ConflictRetry):
			}
			batch := take()
			if len(batch) == 0 { // the batch before had them
				continue
			}
			requests, err := a.awaiting(ctx, batch)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot list attachments")
				add(batch.UnsortedList()...)
				continue
			}
			for _, request := range requests {
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
func (a agentsReady) awaiting(ctx context.Context, nodes sets.Set[string]) ([]reconcile.Request, error) {
	var attachments v1alpha1.JmxAttachmentList
	if err := (cached.Snapshot{Reader: a.Reader}).List(ctx, &attachments, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return enqueue.Matching(attachments.Items, func(record *v1alpha1.JmxAttachment) bool {
		return nodes.Has(record.Status.NodeName) && awaitsNodeAgent(&record.Status)
	}), nil
}

// nodeAgentCame reports whether the node of a pod that waits for a node agent has got one since
// the reconcile began, or another one. agentsReady did not find the record, which was not
// persisted yet.
func (v *visit) nodeAgentCame() bool {
	if !awaitsNodeAgent(v.Status()) {
		return false
	}
	now := v.nodeAgent(v.Pod.Spec.NodeName)
	return now.Ready && (!v.NodeAgent.Ready || now.UID != v.NodeAgent.UID)
}

// awaitsNodeAgent reports whether a node agent, or another one, may end what keeps a pod from
// being attached to, or from being detached. A container for which only another transport failed
// keeps no pod from it where others are attached to.
func awaitsNodeAgent(status *v1alpha1.JmxAttachmentStatus) bool {
	return steps.AwaitsNodeAgent(status.Reason) ||
		slices.ContainsFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return steps.AwaitsNodeAgent(p.Reason) }) ||
		slices.ContainsFunc(status.Containers, func(c v1alpha1.InspectedContainer) bool { return slices.Contains(byNodeAgent, c.Reason) })
}

// byNodeAgent are the reasons of a node agent for not reaching a container.
var byNodeAgent = []string{v1alpha1.ReasonNodeAgentPending, v1alpha1.ReasonNodeAgentMissing, v1alpha1.ReasonNodeAgentRefused, v1alpha1.ReasonNodeAgentUndecided}

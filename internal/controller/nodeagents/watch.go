package nodeagents

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1informers "k8s.io/client-go/informers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// syncTimeout is how long a start waits for the node agents. Without them, the operator uses
// other transports.
const syncTimeout = 10 * time.Second

// Synced implements attachment.NodeAgents.
func (a *Agents) Synced(ctx context.Context) {
	timeout := a.clock.NewTimer(syncTimeout)
	defer timeout.Stop()
	select {
	case <-a.synced:
	case <-timeout.C():
	case <-ctx.Done():
	}
}

func (a *Agents) sync() { a.syncOnce.Do(func() { close(a.synced) }) }

// Watch implements attachment.NodeAgents. The right to read the pods comes with config/node
// where the operator has no right to read all pods: without it, there are no node agents, and
// it is asked for again with backoff.
func (a *Agents) Watch(ctx context.Context, ready func(node string)) {
	if a.namespace == "" {
		a.sync()
		return
	}
	go func() {
		for tries := int32(1); !a.mayWatch(ctx); tries++ {
			a.sync()
			select {
			case <-ctx.Done():
				return
			case <-a.clock.After(statemachine.Backoff(tries)):
			}
		}
		a.watch(ctx, ready)
	}()
}

// mayWatch reports whether the pods can be listed.
func (a *Agents) mayWatch(ctx context.Context) bool {
	_, err := a.client.CoreV1().Pods(a.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: 1})
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("node agents cannot be listed", "error", err.Error())
	}
	return err == nil
}

var selector = labels.Set{labelName: nameValue, labelComponent: componentValue}.String()

// watch follows the pods until ctx is done.
func (a *Agents) watch(ctx context.Context, ready func(node string)) {
	set := func(object any, gone bool) {
		if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if p, ok := object.(*corev1.Pod); ok && a.set(p, gone) {
			ready(nodeOf(p))
		}
	}
	informer := corev1informers.NewFilteredPodInformer(a.client, a.namespace, 0, toolscache.Indexers{}, func(o *metav1.ListOptions) { o.LabelSelector = selector })
	// Neither fails before the informer runs.
	_ = informer.SetTransform(trim)
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsForbidden(err) { // config/node was removed: it is retried with backoff
			ctrl.LoggerFrom(ctx).V(1).Info("node agents cannot be watched", "error", err.Error())
			return
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	})
	handlers, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(object, false) },
		UpdateFunc: func(_, object any) { set(object, false) },
		DeleteFunc: func(object any) { set(object, true) },
	})
	if err != nil { // the informer was stopped
		return
	}
	go wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { //nolint:errcheck // it ends with ctx
		if handlers.HasSynced() {
			a.sync()
		}
		return handlers.HasSynced(), nil
	})
	informer.RunWithContext(ctx)
}

// trim keeps what Agents reads.
func trim(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{}
	kept.Name, kept.Namespace, kept.UID = p.Name, p.Namespace, p.UID
	kept.ResourceVersion, kept.CreationTimestamp, kept.DeletionTimestamp = p.ResourceVersion, p.CreationTimestamp, p.DeletionTimestamp
	kept.OwnerReferences, kept.Spec.ServiceAccountName = p.OwnerReferences, p.Spec.ServiceAccountName
	kept.Spec.NodeName, kept.Spec.Affinity = p.Spec.NodeName, p.Spec.Affinity // nodeOf
	for _, c := range p.Spec.Containers {
		if c.Name == ContainerName {
			kept.Spec.Containers = append(kept.Spec.Containers, corev1.Container{Name: c.Name})
		}
	}
	kept.Status.Conditions, kept.Status.ContainerStatuses = p.Status.Conditions, p.Status.ContainerStatuses
	kept.Status.Phase, kept.Status.Reason, kept.Status.Message = p.Status.Phase, p.Status.Reason, p.Status.Message
	return kept, nil
}

package exporter

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// observe reads everything that is decided by.
func (r *Reconciler) observe(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (*fleet, error) {
	inputs, err := r.Source.Get(ctx, exporter)
	if err != nil {
		return nil, err
	}
	f := &fleet{exporter: exporter, inputs: inputs, transport: steps.TransportOf(exporter.Spec.Transport, r.Transport), rollout: rollout{
		revision: r.revision(exporter, inputs), resume: steps.Resume(exporter), limits: exporter.Spec.Rollout, now: r.Clock.Now(),
	}}
	// Asked first: what is listed is at least as new as what the answer is about.
	f.recordsBehind, f.endpointsBehind = r.written.behind(ctx, r.Reader, client.ObjectKeyFromObject(exporter), r.Clock)
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(exporter.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	attachments, err := r.attachments(ctx, exporter)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.Reader.List(ctx, &pods, client.InNamespace(exporter.Namespace),
		client.MatchingLabelsSelector{Selector: exporter.Spec.AsSelector()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		if err := r.assign(ctx, f, &pods.Items[i], exporters.Items, attachments); err != nil {
			return nil, err
		}
	}
	// All records, because a failed pod is no longer a member.
	records := slices.SortedFunc(maps.Values(attachments), func(a, b *v1alpha1.JmxAttachment) int { return strings.Compare(a.Name, b.Name) })
	f.rollout.stopAt(exporter, records, pods.Items)
	f.granted = sets.New[string]()
	for _, a := range records {
		f.granted.Insert(a.Spec.Revision)
	}
	f.kept = r.kept.get(exporter, f.granted).names
	f.unread = r.observePublished(ctx, f)
	return f, nil
}

// assign adds a pod that matches the selector to the fleet, according to who owns it.
func (r *Reconciler) assign(ctx context.Context, f *fleet, pod *corev1.Pod, exporters []v1alpha1.PrometheusJmxExporter, attachments map[types.UID]*v1alpha1.JmxAttachment) error {
	attached := attachments[pod.UID]
	if attached != nil && selection.Drains(f.exporter, pod, attached) {
		f.draining = append(f.draining, member{pod: pod, attachment: attached})
		return nil
	}
	owner := selection.OwnerOf(exporters, pod, attached)
	switch {
	case owner == nil && attached != nil && f.rollout.awaitsHalt(pod, attached):
		f.rollout.failed++
		return nil
	case owner == nil:
		return nil
	case owner.UID != f.exporter.UID:
		if selection.Matched(f.exporter, pod) {
			f.claimed = append(f.claimed, claim{pod: pod.Name, owner: owner.Name})
		}
		return nil
	}
	if attached == nil {
		var err error
		if attached, err = r.attachment(ctx, pod); err != nil {
			return err
		}
	}
	switch {
	case attached == nil || selection.Inherits(f.exporter, attached):
		f.members = append(f.members, member{pod: pod, attachment: attached})
	case selection.OwnerOf(exporters, pod, attached).UID != f.exporter.UID:
		f.claimed = append(f.claimed, claim{pod: pod.Name, owner: selection.OwnerOf(exporters, pod, attached).Name})
	default:
		f.detaching = append(f.detaching, pod.Name)
	}
	return nil
}

// observePublished reads the EndpointSlices, and the Service if one is needed.
func (r *Reconciler) observePublished(ctx context.Context, f *fleet) error {
	var existing discoveryv1.EndpointSliceList
	if err := r.Reader.List(ctx, &existing, client.InNamespace(f.exporter.Namespace), ours(f.exporter), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	f.slices = slices.DeleteFunc(existing.Items, func(s discoveryv1.EndpointSlice) bool { return !selection.OwnSlice(&s) })
	if !f.publishes() {
		return nil
	}
	var service corev1.Service
	key := client.ObjectKey{Namespace: f.exporter.Namespace, Name: selection.ServiceName(f.exporter)}
	err := cached.Snapshot{Reader: r.Reader}.Get(ctx, key, &service) // endpointsBehind covers what it lacks
	if apierrors.IsNotFound(err) {                                   // the cache has ours only
		err = r.Live.Get(ctx, key, &service)
	}
	if err == nil {
		f.service = &service
	}
	return client.IgnoreNotFound(err)
}

// revision returns the revision to roll out. It stays the same while the configuration is
// invalid, so that failures of pods that have it still count.
func (r *Reconciler) revision(exporter *v1alpha1.PrometheusJmxExporter, inputs steps.Inputs) string {
	if inputs.Problem() != nil && exporter.Status.Revision != "" {
		return exporter.Status.Revision
	}
	return steps.Revision(exporter, inputs, r.Artifacts)
}

// attachments returns the exporter's records by the UIDs of their pods.
func (r *Reconciler) attachments(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (map[types.UID]*v1alpha1.JmxAttachment, error) {
	var list v1alpha1.JmxAttachmentList
	if err := r.Reader.List(ctx, &list, client.InNamespace(exporter.Namespace), selection.RecordsOf(exporter.UID), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	byPod := make(map[types.UID]*v1alpha1.JmxAttachment, len(list.Items))
	for i := range list.Items {
		a := &list.Items[i]
		if a.Name == selection.AttachmentNameOf(a.Spec.Pod.Name, a.Spec.Pod.UID) { // not one made by hand
			byPod[a.Spec.Pod.UID] = a
		}
	}
	return byPod, nil
}

// attachment returns the record of a pod; nil if there is none. It may still belong to
// another exporter: the record follows its pod.
func (r *Reconciler) attachment(ctx context.Context, pod *corev1.Pod) (*v1alpha1.JmxAttachment, error) {
	var a v1alpha1.JmxAttachment
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: selection.AttachmentName(pod)}, &a, client.UnsafeDisableDeepCopy)
	if err != nil || a.Spec.Pod.UID != pod.UID {
		return nil, client.IgnoreNotFound(err)
	}
	return &a, nil
}

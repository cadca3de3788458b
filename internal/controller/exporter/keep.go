package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// keepTimeout limits how long an exporter waits for what it keeps or deletes: nothing that is
// served depends on it.
const keepTimeout = 5 * time.Second

// kindOfRevision is the kind of what is kept; only its metadata is read.
const kindOfRevision = "ControllerRevision"

// keep writes a ControllerRevision, unless it is there. One of somebody else is not changed.
func (r *Reconciler) keep(ctx context.Context, f *fleet, k *keeping, p revisionPlan) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	var there metav1.PartialObjectMetadata
	there.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindOfRevision))
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: f.exporter.Namespace, Name: p.current}, &there)
	switch {
	case apierrors.IsNotFound(err):
		k.names[p.current] = false // the answer may get lost
		err = r.Writer.Revision(ctx, p.keep)
	case err == nil && !keptFor(f.exporter, &there):
		return fmt.Errorf("ControllerRevision %s is not controlled by this exporter; delete it", p.current)
	}
	if err == nil {
		k.names[p.current] = true
	}
	return err
}

// prune deletes the ControllerRevisions that no record needs, and the oldest of too many.
func (r *Reconciler) prune(ctx context.Context, f *fleet, k *keeping, p revisionPlan) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindOfRevision + "List"))
	if err := r.Live.List(ctx, &list, client.InNamespace(f.exporter.Namespace), client.MatchingLabels(serviceLabels(f.exporter))); err != nil {
		return err
	}
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	clear(k.names)
	var failed []error
	room := revisionLimit
	for _, o := range list.Items {
		switch {
		case !keptFor(f.exporter, &o):
			continue
		case o.Name == p.current && p.used.Has(o.Name):
			k.names[o.Name] = true
			continue
		case p.used.Has(o.Name) && room > 0:
			k.names[o.Name] = true
			room--
			continue
		}
		o.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindOfRevision))
		if err := r.Writer.DeleteRevision(ctx, &o); err != nil {
			k.names[o.Name] = true
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// keptFor reports whether a ControllerRevision is one that the operator keeps for an exporter.
// Its content proves itself when it is read.
func keptFor(exporter *v1alpha1.PrometheusJmxExporter, o *metav1.PartialObjectMetadata) bool {
	return metav1.IsControlledBy(o, exporter) && labels.SelectorFromSet(serviceLabels(exporter)).Matches(labels.Set(o.Labels))
}

// tried notes the result of a try. A failure concerns nothing that is served: it is reported in
// an Event and a message, and repeated later.
func (r *Reconciler) tried(f *fleet, k *keeping, kept, pruned error) {
	before := k.failure
	switch {
	case kept != nil && !apply.IsGone(kept):
		k.failure = "The configuration is not kept in a ControllerRevision; a container that restarts while the ConfigMap is invalid will have no metrics: " + whyNot(kept) + "."
	case pruned != nil && !apply.IsGone(pruned):
		k.failure = "ControllerRevisions that are no longer used cannot be deleted: " + whyNot(pruned) + "."
	default:
		k.failure, k.tries, k.next = "", 0, time.Time{}
		return
	}
	k.tries++
	k.next = r.Clock.Now().Add(statemachine.Backoff(k.tries + 6)) // a minute at first
	if before == "" {
		r.Recorder.Eventf(f.exporter, nil, corev1.EventTypeWarning, v1alpha1.ReasonConfigNotKept, "Keep", "%s", text.Note(k.failure))
	}
}

func whyNot(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("the API server did not answer within %s", keepTimeout)
	}
	return text.Denial(err)
}

package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
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
		err = r.writeRevision(ctx, f, p.current)
	case err == nil && !keptFor(f.exporter, &there):
		return fmt.Errorf("ControllerRevision %s is not controlled by this exporter; delete it", p.current)
	}
	switch {
	case err == nil:
		k.names[p.current] = true
	case !apply.IsGone(err):
		return errors.New(whyNot(err))
	}
	return nil
}

// writeRevision writes the ControllerRevision of the current configuration.
func (r *Reconciler) writeRevision(ctx context.Context, f *fleet, name string) error {
	config, err := transport.Loaded(ctx, []transport.Blob{f.inputs.Config.Blob})
	if err != nil {
		return err
	}
	return r.Writer.Revision(ctx, f.revisionConfiguration(name, config[0].Content))
}

// prune deletes the ControllerRevisions that no record needs, and the oldest of too many. It
// returns the first failure.
func (r *Reconciler) prune(ctx context.Context, f *fleet, k *keeping, p revisionPlan) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindOfRevision + "List"))
	if err := r.Live.List(ctx, &list, client.InNamespace(f.exporter.Namespace), client.MatchingLabels(serviceLabels(f.exporter))); err != nil {
		return fmt.Errorf("ControllerRevisions cannot be listed: %s", whyNot(err))
	}
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	clear(k.names)
	var failed error
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
		if err := r.deleteRevision(ctx, &o); err != nil {
			k.names[o.Name] = true
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// deleteRevision deletes a ControllerRevision, and returns an error if finalizers keep it.
func (r *Reconciler) deleteRevision(ctx context.Context, o *metav1.PartialObjectMetadata) error {
	o.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindOfRevision))
	if o.DeletionTimestamp.IsZero() {
		if err := r.Writer.DeleteRevision(ctx, o); err != nil {
			return fmt.Errorf("ControllerRevision %s cannot be deleted: %s", o.Name, whyNot(err))
		}
	}
	if len(o.Finalizers) > 0 {
		return fmt.Errorf("ControllerRevision %s is not removed: remove the finalizers (%s) that keep it", o.Name, text.Line(strings.Join(o.Finalizers, ", "), 80))
	}
	return nil
}

// keptFor reports whether a ControllerRevision is one that the operator keeps for an exporter.
// Its content proves itself when it is read.
func keptFor(exporter *v1alpha1.PrometheusJmxExporter, o *metav1.PartialObjectMetadata) bool {
	return metav1.IsControlledBy(o, exporter) && labels.SelectorFromSet(serviceLabels(exporter)).Matches(labels.Set(o.Labels))
}

// attempt does what is needed and due, and returns the time after which to do what failed. A
// failure concerns nothing that is served: it is reported in an Event and a message.
func (r *Reconciler) attempt(f *fleet, a *attempts, needed bool, do func() error) (again time.Duration) {
	if wait := a.next.Sub(r.Clock.Now()); needed && wait > 0 {
		return wait
	}
	var err error
	if needed {
		err = do()
	}
	before := a.failure
	if err == nil {
		a.failure, a.failed, a.next = "", 0, time.Time{}
		return 0
	}
	a.failure = a.preface + err.Error() + "."
	a.failed++
	again = statemachine.Backoff(a.failed + 6) // a minute at first
	a.next = r.Clock.Now().Add(again)
	if before == "" {
		r.Recorder.Eventf(f.exporter, nil, corev1.EventTypeWarning, a.reason, "Keep", "%s", text.Note(a.failure))
	}
	return again
}

func whyNot(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("the API server did not answer within %s", keepTimeout)
	}
	return text.Denial(err)
}

package exporter

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// conclude writes the status if it differs, records Events for what is new in it, and
// returns when to reconcile again, also if something could not be written.
func (r *Reconciler) conclude(ctx context.Context, f *fleet, again time.Duration, failure error) (ctrl.Result, error) {
	problems, err := problem.Check(ctx, r.Reader, r.Logs, f.exporter, r.Clock.Now())
	if err != nil {
		return ctrl.Result{RequeueAfter: again}, errors.Join(failure, err)
	}
	wait, err := r.writeStatus(ctx, f.exporter, sum{f, problems, failure, r.kept.get(f.exporter, f.granted).failure(), metav1.NewTime(r.Clock.Now()).Rfc3339Copy()}.status())
	switch {
	case apply.IsGone(err) || apierrors.HasStatusCause(failure, corev1.NamespaceTerminatingCause):
		return ctrl.Result{}, nil
	case apply.IsStale(err):
		return ctrl.Result{RequeueAfter: enqueue.ConflictRetry}, failure
	}
	if p := f.inputs.Problem(); p != nil && !v1alpha1.AwaitsEvent(p.Reason) {
		again = enqueue.Earliest(again, statemachine.MaxBackoff)
	}
	again = enqueue.Earliest(again, r.Source.RereadAfter(client.ObjectKeyFromObject(f.exporter)))
	again = enqueue.Earliest(again, wait)
	return ctrl.Result{RequeueAfter: enqueue.Earliest(again, problems.Again)}, errors.Join(failure, err)
}

// writeStatus writes the status if it differs, or returns the time until it may.
func (r *Reconciler) writeStatus(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, status *v1alpha1.PrometheusJmxExporterStatus) (wait time.Duration, err error) {
	before, key, now := exporter.Status, client.ObjectKeyFromObject(exporter), r.Clock.Now()
	if equality.Semantic.DeepEqual(&before, status) {
		return 0, nil
	}
	if wait := r.progress.wait(key, &before, status, now); wait > 0 {
		return wait, nil
	}
	r.stated.note(key, status)
	if err := r.Writer.ExporterStatus(ctx, exporter, status); err != nil {
		return 0, err
	}
	r.progress.note(key, now)
	r.announce(exporter, before.Conditions, status.Conditions)
	r.announcePause(exporter, before.Restarts, status)
	problem.Announce(r.Recorder, exporter, before.ProblemPods, status.ProblemPods)
	return 0, nil
}

// announcePause records an Event for each exit that pauses the rollout.
func (r *Reconciler) announcePause(exporter *v1alpha1.PrometheusJmxExporter, before *v1alpha1.Restarts, status *v1alpha1.PrometheusJmxExporterStatus) {
	after := status.Restarts
	if after == nil || !after.Paused {
		return
	}
	last := after.Pods[len(after.Pods)-1]
	if before != nil && before.Revision == after.Revision && !last.Time.After(before.Pods[len(before.Pods)-1].Time.Time) {
		return // an earlier exit, if the last one was explained since
	}
	paused := rollout{restarts: after, limits: exporter.Spec.Rollout}
	r.Recorder.Eventf(exporter, nil, corev1.EventTypeWarning, v1alpha1.ReasonRolloutPaused, "Attach", "%s", text.Note(paused.paused()))
}

// announce records Events for conditions that became True or have a new reason.
func (r *Reconciler) announce(exporter *v1alpha1.PrometheusJmxExporter, before, after []metav1.Condition) {
	recordEvent := func(kind, eventType, action string) {
		was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		if is != nil && is.Status == metav1.ConditionTrue && (was == nil || was.Status != is.Status || was.Reason != is.Reason) {
			r.Recorder.Eventf(exporter, nil, eventType, is.Reason, action, "%s", text.Note(is.Message))
		}
	}
	recordEvent(v1alpha1.ConditionReady, corev1.EventTypeNormal, "Attach")
	recordEvent(v1alpha1.ConditionPreflightComplete, corev1.EventTypeNormal, "Inspect")
	recordEvent(v1alpha1.ConditionStalled, corev1.EventTypeWarning, "Attach")
	for _, n := range notices {
		recordEvent(n.kind, corev1.EventTypeWarning, "Scrape")
	}
}

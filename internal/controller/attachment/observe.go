package attachment

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// attachment reads the record; nil if there is none. One that is deleted but kept by a finalizer
// stays managed: nothing else would change or detach its pod.
func (r *Reconciler) attachment(ctx context.Context, name types.NamespacedName) (*v1alpha1.JmxAttachment, error) {
	var attachment v1alpha1.JmxAttachment
	err := r.Reader.Get(ctx, name, &attachment)
	if apierrors.IsNotFound(err) {
		r.Health.Forget(name)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &attachment, nil
}

// observe reads everything else that is decided by. It returns nil if there is nothing to
// decide.
func (r *Reconciler) observe(ctx context.Context, attachment *v1alpha1.JmxAttachment, session Session) (*visit, error) {
	found, err := subject(ctx, r.Reader, attachment)
	switch {
	case err != nil:
		return nil, err
	case found.drains(attachment):
		r.Health.Forget(client.ObjectKeyFromObject(attachment))
		return nil, nil // the record goes with its pod
	case !found.owned(attachment):
		return r.observeDetaching(ctx, attachment, session)
	case attachment.Status.DetachStartTime != nil && attachment.Spec.Revision != "":
		return nil, nil // the pod came back: the exporter controller first withdraws its old grant
	}
	return r.observeAttached(ctx, attachment, found.pod, found.owner, session)
}

// observeAttached reads what concerns a pod that an exporter owns, and examines its
// endpoints that are silent.
func (r *Reconciler) observeAttached(ctx context.Context, attachment *v1alpha1.JmxAttachment, of *corev1.Pod, exporter *v1alpha1.PrometheusJmxExporter, session Session) (*visit, error) {
	inputs, err := r.inputs(ctx, exporter, attachment)
	if err != nil {
		return nil, err
	}
	exporter = inputs.Exporter
	v, err := r.visit(ctx, attachment, of, exporter.UID, session)
	if err != nil {
		return nil, err
	}
	v.decisions, v.conclude = steps.Attach, v.concludeAttach
	v.Exporter, v.Inputs, v.retryInputs = exporter, inputs.Inputs, inputs.retryAfter
	revision := attachment.Spec.Revision
	v.ProvenOnly = inputs.superseded || steps.Halted(exporter, revision) || steps.Paused(exporter, revision)
	v.Granted = exporter.Spec.Mode != v1alpha1.ModePreflight && !exporter.Spec.Suspend &&
		revision == steps.Revision(exporter, inputs.Inputs, r.Artifacts)
	v.Unauthorized = func() *statemachine.Outcome { return steps.Unauthorized(ctx, r.Authority, exporter) }
	v.examine(ctx)
	return v, nil
}

// observeDetaching reads what concerns a pod that is gone, or no longer belongs to the
// exporter of its record. A terminating pod has nothing to undo, and another exporter that
// owns the pod takes over the record as it is.
func (r *Reconciler) observeDetaching(ctx context.Context, attachment *v1alpha1.JmxAttachment, session Session) (*visit, error) {
	found, err := r.confirm(ctx, attachment)
	switch {
	case err != nil:
		return nil, err
	case found.owned(attachment):
		return nil, errors.New("stale cache: the pod still belongs to the exporter")
	case found.inherited(attachment):
		return nil, nil // the owner takes the record over
	case found.pod == nil || !found.pod.DeletionTimestamp.IsZero():
		v := r.begin(attachment, &corev1.Pod{}, session)
		v.conclude = v.detached
		return v, nil
	}
	v, err := r.visit(ctx, attachment, found.pod, attachment.Spec.Exporter.UID, session)
	if err != nil {
		return nil, err
	}
	v.decisions, v.conclude = steps.Detach, v.concludeDetach
	if found.exporter != nil {
		v.Unauthorized = func() *statemachine.Outcome { return steps.Unauthorized(ctx, r.Authority, found.exporter) }
	}
	if e := found.exporter; e != nil && e.DeletionTimestamp.IsZero() && selection.Selects(e, found.pod) {
		v.Former = e
	}
	return v, nil
}

// visit returns a reconcile of a pod, with the endpoints that the exporter of a UID
// publishes for it.
func (r *Reconciler) visit(ctx context.Context, attachment *v1alpha1.JmxAttachment, of *corev1.Pod, exporter types.UID, session Session) (*visit, error) {
	published, err := r.published(ctx, of, exporter)
	if err != nil {
		return nil, err
	}
	v := r.begin(attachment, of, session)
	v.Published = published
	return v, nil
}

// begin returns a reconcile of a pod of which nothing else is known.
func (r *Reconciler) begin(attachment *v1alpha1.JmxAttachment, of *corev1.Pod, session Session) *visit {
	persisted, now := attachment.Status.DeepCopy(), r.Clock.Now()
	record.NotAhead(&attachment.Status, now)
	begun := attachment.Status.DeepCopy()
	v := &visit{Reconciler: r, persisted: persisted, Situation: &steps.Situation{
		Observed: steps.Observed{
			Operator: steps.Operator{Artifacts: r.Artifacts, Transport: r.Transport, Protection: r.Protection, HealthChecks: r.Health.Enabled()},
			Pod:      of, NodeAgent: r.nodeAgent(of.Spec.NodeName), Begun: begun, Time: now, Now: metav1.NewTime(now).Rfc3339Copy(),
		},
		Record: record.Record{Attachment: attachment},
		State:  steps.PodState(begun),
	}}
	v.use(session, limitedProber{r.Prober, r.Limits, probedIn(of, attachment)})
	return v
}

// use sets the tools of the steps.
func (v *visit) use(helper steps.Helper, prober probe.Prober) {
	v.tries = tries{helper: helper, prober: prober, writer: v.Writer}
	v.tools = steps.Tools{Helper: &v.tries, Prober: &v.tries, Writer: &v.tries, Persist: v.persist}
}

// examine collects the state of the endpoints whose health checks failed. Nothing is
// executed as long as all endpoints answer.
func (v *visit) examine(ctx context.Context) {
	v.EndpointHealth = map[record.ProcessIdentity]steps.Health{}
	for id, check := range v.Health.Take(v.key()) {
		p := v.Known(id)
		switch {
		case p == nil, p.Endpoint == nil, v.Begun.DetachStartTime != nil: // it is forgotten
			continue
		case check.Err == nil:
			health := steps.Health{}
			if p.Endpoint.CheckedFrom.Beyond() {
				health.CheckedFrom = v1alpha1.CheckedFromOperator
			}
			if check.ConfigSHA256 == p.ConfigSHA256 { // else a load has said more since
				health.Notices = check.Notices
			}
			v.EndpointHealth[id] = health
			continue
		case p.Endpoint.CheckedFrom.Beyond():
			continue // as before
		}
		health := steps.Health{
			Finding: v.tools.Examine(ctx, v.Situation, p, check.Misses),
			Foreign: errors.Is(check.Err, probe.ErrForeign),
			Misses:  check.Misses,
			Served:  check.Served,
		}
		if health.Finding == steps.FindingServing && !health.Foreign { // what keeps the operator out would be examined for ever
			health.CheckedFrom = v.CheckedFrom(p.Container)
		}
		ctrl.LoggerFrom(ctx).Info("health check failed", "container", p.Container, "port", p.Endpoint.Port, "error", check.Err, "finding", health.Finding)
		v.EndpointHealth[id] = health
	}
}

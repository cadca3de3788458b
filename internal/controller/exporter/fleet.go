package exporter

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// fleet is what one reconcile of an exporter knows.
type fleet struct {
	exporter *v1alpha1.PrometheusJmxExporter
	config   steps.Config
	rollout  rollout
	// members are the matched pods that belong to the exporter, by name.
	members []member
	// claimed are the matched pods that belong to an older one, by name.
	claimed []claim
	// problems are the pods with the labels that do not run.
	problems problem.Found
	// failure is what kept records, Service or slices from being written.
	failure error
}

// member is a pod with its record, which is nil until it is made.
type member struct {
	pod        *corev1.Pod
	attachment *v1alpha1.JmxAttachment
}

type claim struct{ pod, owner string }

func (r *Reconciler) observe(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (*fleet, error) {
	config, err := r.Source.Get(ctx, exporter)
	if err != nil {
		return nil, err
	}
	f := &fleet{exporter: exporter, config: config, rollout: rollout{
		revision: steps.Revision(exporter, config, r.Artifacts), limits: exporter.Spec.Rollout, now: r.Clock.Now(),
	}}

	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(exporter.Namespace)); err != nil {
		return nil, err
	}
	attachments, err := r.attachments(ctx, exporter)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.Reader.List(ctx, &pods, client.InNamespace(exporter.Namespace),
		client.MatchingLabelsSelector{Selector: exporter.Spec.Selector()}); err != nil {
		return nil, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch owner := selection.Owner(exporters.Items, pod); {
		case owner == nil && f.rollout.testifies(pod, attachments[pod.UID]):
			f.rollout.failed++
		case owner == nil:
		case owner.UID == exporter.UID:
			f.members = append(f.members, member{pod: pod, attachment: attachments[pod.UID]})
		case selection.Matched(exporter, pod):
			f.claimed = append(f.claimed, claim{pod: pod.Name, owner: owner.Name})
		}
	}
	// Of all records: a pod that failed is no member any more.
	records := slices.SortedFunc(maps.Values(attachments), func(a, b *v1alpha1.JmxAttachment) int { return strings.Compare(a.Name, b.Name) })
	f.rollout.halt = f.rollout.haltOf(exporter.Status.Halt, records)
	return f, nil
}

func (r *Reconciler) attachments(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (map[types.UID]*v1alpha1.JmxAttachment, error) {
	var list v1alpha1.JmxAttachmentList
	if err := r.Reader.List(ctx, &list, client.InNamespace(exporter.Namespace)); err != nil {
		return nil, err
	}
	// By the spec, which never changes; labels are for people.
	byPod := map[types.UID]*v1alpha1.JmxAttachment{}
	for i := range list.Items {
		if a := &list.Items[i]; a.Spec.Exporter.UID == exporter.UID {
			byPod[a.Spec.Pod.UID] = a
		}
	}
	return byPod, nil
}

// attach makes the records that are missing, and grants the revision to those
// whose turn has come. A record that another exporter still has is left to go
// first: its deletion is an event that brings us back.
func (r *Reconciler) attach(ctx context.Context, f *fleet) (again time.Duration, err error) {
	granted := map[types.UID]bool{}
	if !f.exporter.Spec.Suspend {
		turns, when := f.rollout.grants(f.members, f.config.Problem != nil)
		for _, m := range turns {
			granted[m.pod.UID] = true
		}
		again = when
	}
	var failed []error
	for _, m := range f.members {
		if m.attachment != nil && !granted[m.pod.UID] {
			continue
		}
		if err := r.grant(ctx, f, m, granted[m.pod.UID]); err != nil && !apply.IsGone(err) {
			failed = append(failed, err)
		}
	}
	return again, errors.Join(failed...)
}

// grant writes the record of a pod: with the revision, if its turn has come.
func (r *Reconciler) grant(ctx context.Context, f *fleet, m member, granted bool) error {
	name, revision := selection.AttachmentName(m.pod), ""
	if granted {
		revision = f.rollout.revision
	}
	if m.attachment != nil {
		return r.Writer.Attachment(ctx, m.attachment.UID, name, m.pod, f.exporter, revision)
	}
	var other v1alpha1.JmxAttachment
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: m.pod.Namespace, Name: name}, &other)
	if !apierrors.IsNotFound(err) {
		return err
	}
	return r.Writer.Attachment(ctx, "", name, m.pod, f.exporter, revision)
}

// phase of the member; Pending before its record says more.
func (m member) phase() v1alpha1.Phase {
	if m.attachment == nil || m.attachment.Status.Phase == "" {
		return v1alpha1.PhasePending
	}
	return m.attachment.Status.Phase
}

// refused tells that the member needs a person.
func (m member) refused() bool {
	return m.attachment != nil && v1alpha1.NeedsPerson(m.attachment.Status.Reason)
}

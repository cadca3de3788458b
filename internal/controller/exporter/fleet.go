package exporter

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// fleet is the data of one reconcile of an exporter.
type fleet struct {
	exporter *v1alpha1.PrometheusJmxExporter
	inputs   steps.Inputs
	// transport is the transport to the pods; Auto if each container decides.
	transport v1alpha1.Transport
	rollout   rollout
	// members are the matched pods that belong to the exporter, by name.
	members []member
	// claimed are the matched pods that belong to another exporter, by name.
	claimed []claim
	// detaching are pods, by name, that are being detached from another exporter before
	// this one, which is in mode Preflight, inspects them.
	detaching []string
	// problems are the pods that match the selector but do not run.
	problems problem.Found
	// failure is the error that prevented writing records, Service or slices.
	failure error
}

// member is a pod with its record, which is nil until it is created.
type member struct {
	pod        *corev1.Pod
	attachment *v1alpha1.JmxAttachment
}

type claim struct{ pod, owner string }

func (r *Reconciler) observe(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (*fleet, error) {
	inputs, err := r.Source.Get(ctx, exporter)
	if err != nil {
		return nil, err
	}
	f := &fleet{exporter: exporter, inputs: inputs, transport: steps.TransportOf(exporter.Spec.Transport, r.Transport), rollout: rollout{
		revision: r.revision(exporter, inputs), resume: steps.Resume(exporter), limits: exporter.Spec.Rollout, now: r.Clock.Now(),
	}}

	// Listed objects belong to the cache and are never modified: copying a fleet would
	// be most of the cost of a reconcile.
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
		client.MatchingLabelsSelector{Selector: exporter.Spec.Selector()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		record := attachments[pod.UID]
		switch owner := selection.OwnerOf(exporters.Items, pod, record); {
		case owner == nil && record != nil && f.rollout.awaitsHalt(pod, record):
			f.rollout.failed++
		case owner == nil:
		case owner.UID == exporter.UID:
			if record == nil {
				if record, err = r.attachment(ctx, pod); err != nil {
					return nil, err
				}
			}
			if record != nil && !selection.Inherits(exporter, record) {
				if owner := selection.OwnerOf(exporters.Items, pod, record); owner.UID != exporter.UID {
					f.claimed = append(f.claimed, claim{pod: pod.Name, owner: owner.Name})
				} else {
					f.detaching = append(f.detaching, pod.Name)
				}
				continue
			}
			f.members = append(f.members, member{pod: pod, attachment: record})
		case selection.Matched(exporter, pod):
			f.claimed = append(f.claimed, claim{pod: pod.Name, owner: owner.Name})
		}
	}
	// All records, because a failed pod is no longer a member.
	records := slices.SortedFunc(maps.Values(attachments), func(a, b *v1alpha1.JmxAttachment) int { return strings.Compare(a.Name, b.Name) })
	f.rollout.halt = f.rollout.haltOf(exporter.Status.Halt, records)
	return f, nil
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
	byPod := map[types.UID]*v1alpha1.JmxAttachment{}
	for i := range list.Items {
		a := &list.Items[i]
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: a.Spec.Pod.Name, UID: a.Spec.Pod.UID}}
		if a.Name == selection.AttachmentName(pod) { // not one made by hand
			byPod[pod.UID] = a
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

// A reconcile writes a limited batch of records, for at most batchTime: the first
// records of a large fleet take longer than a reconcile may, and the status would not be
// updated meanwhile.
const (
	batch     = 200
	batchTime = 20 * time.Second
	writers   = 8 // records written at once: most of a write is the API server's time
)

// attach grants the revision to pods whose turn has come, creates missing records, takes
// over records of pods that belonged to another exporter, and withdraws the grant of
// pods that came back. It handles one batch; the next follows at once. A failed write
// does not affect other records.
func (r *Reconciler) attach(ctx context.Context, f *fleet) (again time.Duration, err error) {
	var due []member
	if !f.exporter.Spec.Suspend && !f.preflighting() {
		due, again = f.rollout.grants(f.members, f.inputs.Problem() != nil)
	}
	granted := sets.New[types.UID]()
	for _, m := range due {
		granted.Insert(m.pod.UID)
	}
	for _, m := range f.members {
		if (m.attachment == nil || m.attachment.Spec.Exporter.UID != f.exporter.UID || m.cameBack()) && !granted.Has(m.pod.UID) {
			due = append(due, m)
		}
	}
	var (
		end              = r.Clock.Now().Add(batchTime)
		mutex            sync.Mutex // of what follows
		settled          = sync.NewCond(&mutex)
		written, writing int
		failed           []error
	)
	workqueue.ParallelizeUntil(ctx, writers, len(due), func(i int) {
		mutex.Lock()
		defer mutex.Unlock()
		for written < batch && written+writing == batch {
			settled.Wait() // what fails takes no place
		}
		if written == batch || !r.Clock.Now().Before(end) {
			again = time.Millisecond
			return
		}
		writing++
		err := func() error {
			mutex.Unlock()
			defer mutex.Lock()
			return r.grant(ctx, f, due[i], granted.Has(due[i].pod.UID))
		}()
		writing--
		settled.Broadcast()
		switch {
		case err == nil:
			written++
		case !apply.IsGone(err):
			failed = append(failed, err)
		}
	})
	return again, errors.Join(failed...)
}

// grant writes the record of a pod: with the revision if its turn has come, with none if
// the pod came back, and otherwise with its current one.
func (r *Reconciler) grant(ctx context.Context, f *fleet, m member, granted bool) error {
	var uid types.UID
	revision := ""
	if m.attachment != nil {
		uid, revision = m.attachment.UID, m.attachment.Spec.Revision
	}
	switch {
	case granted:
		revision = f.rollout.revision
	case m.cameBack():
		revision = ""
	}
	return r.Writer.Attachment(ctx, uid, selection.AttachmentName(m.pod), m.pod, f.exporter, revision)
}

// phase returns the phase of the member; Pending until its record has one.
func (m member) phase() v1alpha1.Phase {
	if m.attachment == nil || m.attachment.Status.Phase == "" {
		return v1alpha1.PhasePending
	}
	return m.attachment.Status.Phase
}

// notAttachable are the reasons for which nothing is attached to a suitable JVM,
// whatever the rollout grants.
var notAttachable = []string{v1alpha1.ReasonContainerRestarting, v1alpha1.ReasonAgentLoadingWarns, v1alpha1.ReasonPodProtected, v1alpha1.ReasonNotAuthorized}

// attachable reports whether the pod was inspected and, according to that, has a JVM
// that can be attached to.
func (m member) attachable() bool {
	if m.attachment == nil || detaching(m.attachment) {
		return false
	}
	if slices.ContainsFunc(m.attachment.Status.Containers, func(c v1alpha1.InspectedContainer) bool {
		return c.Transport == v1alpha1.TransportEphemeralContainer && record.KindOf(c.Reason) == statemachine.Awaiting && c.Reason != v1alpha1.ReasonContainerRestarting
	}) {
		return true // it takes an ephemeral container, which is added when its turn has come
	}
	return slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return !p.Excluded && steps.Plan.Reached(statemachine.Phase(p.Phase), steps.JavaFound) && !slices.Contains(notAttachable, p.Reason)
	})
}

// cameBack reports whether the pod was being detached and still has its old grant. It
// counts as a new pod.
func (m member) cameBack() bool {
	return m.attachment != nil && detaching(m.attachment) && m.attachment.Spec.Revision != ""
}

func detaching(a *v1alpha1.JmxAttachment) bool { return a.Status.DetachStartTime != nil }

// refused reports whether the member needs a person.
func (m member) refused() bool {
	return m.attachment != nil && v1alpha1.NeedsPerson(m.attachment.Status.Reason)
}

package attachment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// observe reads all that the steps work with; nil when the record is to be
// detached: its pod is gone, or belongs to its exporter no more.
func (r *Reconciler) observe(ctx context.Context, attachment *v1alpha1.JmxAttachment, helper steps.Helper) (*steps.Scope, error) {
	found, err := subject(ctx, r.Reader, attachment)
	if err != nil || !found.owned(attachment) {
		return nil, err
	}
	pod, exporter := found.pod, found.owner
	inputs, err := r.Source.Get(ctx, exporter)
	if err != nil {
		return nil, err
	}
	published, err := r.published(ctx, pod, exporter.UID)
	if err != nil {
		return nil, err
	}
	scope := &steps.Scope{
		Attachment: attachment, Pod: pod, Exporter: exporter, Inputs: inputs, Published: published,
		Granted: exporter.Spec.Mode != v1alpha1.ModePreflight && !exporter.Spec.Suspend && !halted(exporter, attachment.Spec.Revision) &&
			attachment.Spec.Revision == steps.Revision(exporter, inputs, r.Artifacts),
		Now:       r.now(),
		Artifacts: r.Artifacts, Transport: r.Transport, Helper: helper, Prober: limitedProber{r.Prober, r.Limits, pod}, Writer: r.Writer, Protection: r.Protection, Authority: r.Authority,
	}
	scope.ReinspectAfter = func(entry *v1alpha1.InspectedContainer) time.Duration {
		return reinspectAfter(scope, entry, r.Health.Enabled())
	}
	return scope, nil
}

func (r *Reconciler) now() metav1.Time { return metav1.NewTime(r.Clock.Now()).Rfc3339Copy() }

// halted reports whether the rollout of a revision was halted.
func halted(exporter *v1alpha1.PrometheusJmxExporter, revision string) bool {
	return exporter.Status.Halt != nil && exporter.Status.Halt.Revision == revision
}

// subjects are what a record is about. Any of them is nil if it is not there.
type subjects struct {
	pod *corev1.Pod
	// exporter is the one that the record names.
	exporter *v1alpha1.PrometheusJmxExporter
	// owner is the one that the pod belongs to now.
	owner *v1alpha1.PrometheusJmxExporter
}

// owned reports whether the pod still belongs to the exporter of the record.
func (s subjects) owned(attachment *v1alpha1.JmxAttachment) bool {
	return s.owner != nil && s.owner.UID == attachment.Spec.Exporter.UID
}

// inherited reports whether the pod's owner takes the record over as it is.
func (s subjects) inherited(attachment *v1alpha1.JmxAttachment) bool {
	return s.owner != nil && selection.Inherits(s.owner, attachment)
}

// subject reads what the record is about. Exporters are only read, so they are
// not copied out of the cache: it would be most of what a look costs.
func subject(ctx context.Context, from client.Reader, attachment *v1alpha1.JmxAttachment) (subjects, error) {
	pod, err := podOf(ctx, from, attachment)
	if err != nil || pod == nil {
		return subjects{}, err
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := from.List(ctx, &exporters, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return subjects{}, err
	}
	return among(exporters.Items, pod, attachment), nil
}

// podOf reads the pod of a record; nil if it is gone.
func podOf(ctx context.Context, from client.Reader, attachment *v1alpha1.JmxAttachment) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := from.Get(ctx, client.ObjectKey{Namespace: attachment.Namespace, Name: attachment.Spec.Pod.Name}, &pod)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	// A record under another name, made by hand, is a second one of its pod.
	if pod.UID != attachment.Spec.Pod.UID || selection.AttachmentName(&pod) != attachment.Name {
		return nil, nil
	}
	return &pod, nil
}

// among are a record's subjects among the exporters of the namespace.
func among(exporters []v1alpha1.PrometheusJmxExporter, pod *corev1.Pod, attachment *v1alpha1.JmxAttachment) subjects {
	found := subjects{pod: pod, owner: selection.OwnerOf(exporters, pod, attachment)}
	for i := range exporters {
		if exporters[i].UID == attachment.Spec.Exporter.UID {
			found.exporter = &exporters[i]
		}
	}
	return found
}

// published are the pod's endpoints in the slices of an exporter; in those of all,
// if nobody knows of which.
func (r *Reconciler) published(ctx context.Context, pod *corev1.Pod, exporter types.UID) ([]steps.PublishedEndpoint, error) {
	var of client.ListOption = client.HasLabels{v1alpha1.LabelExporterUID}
	if exporter != "" {
		of = client.MatchingLabels{v1alpha1.LabelExporterUID: string(exporter)}
	}
	var slices discoveryv1.EndpointSliceList
	if err := r.Reader.List(ctx, &slices, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy, of); err != nil {
		return nil, err
	}
	var published []steps.PublishedEndpoint
	for _, slice := range slices.Items {
		if !controlledByExporter(&slice) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef == nil || endpoint.TargetRef.UID != pod.UID {
				continue
			}
			for _, port := range slice.Ports {
				if port.Port == nil { // somebody else's edit
					continue
				}
				published = append(published, steps.PublishedEndpoint{
					Address: endpoint.Addresses[0], Port: *port.Port, TLS: ptr.Deref(port.AppProtocol, "") == steps.SchemeTLS,
				})
			}
		}
	}
	return published, nil
}

// controlledByExporter reports whether a slice is of the exporter that its label names. The
// label alone proves nothing: the EndpointSlice controller copies it from anybody's Service.
func controlledByExporter(slice *discoveryv1.EndpointSlice) bool {
	controller := metav1.GetControllerOfNoCopy(slice)
	return slice.Labels[discoveryv1.LabelManagedBy] == selection.SliceManager && // nobody else writes one of these: config/policies
		controller != nil && controller.Kind == "PrometheusJmxExporter" && string(controller.UID) == slice.Labels[v1alpha1.LabelExporterUID]
}

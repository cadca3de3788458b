package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

const portName = "metrics"

// publish reconciles the headless Service and its EndpointSlices: all endpoints that
// answered last, in pods that still belong to the exporter.
func (r *Reconciler) publish(ctx context.Context, f *fleet) error {
	var existing discoveryv1.EndpointSliceList
	if err := r.Reader.List(ctx, &existing, client.InNamespace(f.exporter.Namespace), ours(f.exporter), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	// The label alone does not prove ownership: the EndpointSlice controller copies the
	// Service's labels.
	existing.Items = slices.DeleteFunc(existing.Items, func(s discoveryv1.EndpointSlice) bool { return !metav1.IsControlledBy(&s, f.exporter) })
	var wanted []endpoint
	for _, m := range f.members {
		wanted = append(wanted, endpointsOf(m)...)
		if m.attachment == nil || !record.EndpointsKnown(&m.attachment.Status) {
			wanted = append(wanted, alreadyPublished(existing.Items, m.pod)...) // of a record that was lost
		}
	}
	if f.preflighting() && len(wanted)+len(existing.Items) == 0 {
		return nil
	}
	if err := r.service(ctx, f.exporter); err != nil {
		return err
	}
	var failed []error
	for _, s := range plan(selection.ServiceName(f.exporter), existing.Items, wanted) {
		failed = append(failed, r.write(ctx, f.exporter, existing.Items, s)) // one that cannot be written keeps no other
	}
	return errors.Join(failed...)
}

// alreadyPublished returns the pod's endpoints that are already published.
func alreadyPublished(existing []discoveryv1.EndpointSlice, pod *corev1.Pod) []endpoint {
	var endpoints []endpoint
	for _, s := range existing {
		for _, e := range s.Endpoints {
			if e.TargetRef == nil || e.TargetRef.UID != pod.UID || len(s.Ports) != 1 || s.Ports[0].Port == nil {
				continue
			}
			if stays, ok := endpointOf(pod, &v1alpha1.Endpoint{Address: e.Addresses[0], Port: *s.Ports[0].Port, TLS: groupOf(s).tls}); ok {
				endpoints = append(endpoints, stays)
			}
		}
	}
	return endpoints
}

func (r *Reconciler) write(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, existing []discoveryv1.EndpointSlice, s slice) error {
	was := find(existing, s.name)
	switch {
	case len(s.endpoints) == 0:
		return r.Writer.Delete(ctx, was)
	case !s.changed:
		return nil
	}
	return r.Writer.EndpointSlice(ctx, sliceConfiguration(exporter, was, s))
}

func find(existing []discoveryv1.EndpointSlice, name string) *discoveryv1.EndpointSlice {
	for i := range existing {
		if existing[i].Name == name {
			return &existing[i]
		}
	}
	return nil
}

// same reports whether the slice exists as planned.
func same(existing []discoveryv1.EndpointSlice, s slice) bool {
	was := find(existing, s.name)
	return was != nil && groupOf(*was) == s.group && len(was.Ports) == 1 && was.Ports[0].Name != nil && *was.Ports[0].Name == portName &&
		equality.Semantic.DeepEqual(was.Endpoints, s.endpoints)
}

// service reconciles the Service: without a selector, so that no other controller fills
// it, and without prometheus.io annotations, which would duplicate targets. A Service of
// that name that does not belong to the exporter is not changed, and no slices are
// created for it.
func (r *Reconciler) service(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) error {
	name := selection.ServiceName(exporter)
	// The port of a headless Service is informational; clients use that of the slices.
	port := cmp.Or(exporter.Spec.Port, helperapi.FirstPort)
	stated := corev1ac.Service(name, exporter.Namespace).
		WithLabels(serviceLabels(exporter)).
		WithOwnerReferences(ownedBy(exporter)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPorts(corev1ac.ServicePort().WithName(portName).WithPort(port).WithProtocol(corev1.ProtocolTCP)))

	var was corev1.Service
	key := client.ObjectKey{Namespace: exporter.Namespace, Name: name}
	err := r.Reader.Get(ctx, key, &was)
	if apierrors.IsNotFound(err) { // the cache has ours only
		err = r.Live.Get(ctx, key, &was)
	}
	switch {
	case apierrors.IsNotFound(err):
		return r.Writer.Service(ctx, stated)
	case err != nil:
		return err
	case !metav1.IsControlledBy(&was, exporter):
		return fmt.Errorf("service %s is not controlled by this exporter; no endpoint is published. Delete or rename it", name)
	case len(was.Spec.Ports) == 1 && was.Spec.Ports[0].Port == port && was.Spec.Ports[0].Name == portName &&
		labels.SelectorFromSet(serviceLabels(exporter)).Matches(labels.Set(was.Labels)):
		return nil
	}
	return r.Writer.Service(ctx, stated.WithUID(was.UID))
}

func sliceConfiguration(exporter *v1alpha1.PrometheusJmxExporter, was *discoveryv1.EndpointSlice, s slice) *discoveryv1ac.EndpointSliceApplyConfiguration {
	l := map[string]string(ours(exporter))
	l[discoveryv1.LabelServiceName] = selection.ServiceName(exporter)
	l[discoveryv1.LabelManagedBy] = selection.SliceManager
	port := discoveryv1ac.EndpointPort().WithName(portName).WithPort(s.port).WithProtocol(corev1.ProtocolTCP)
	if s.tls {
		port.WithAppProtocol(steps.SchemeTLS)
	}
	ac := discoveryv1ac.EndpointSlice(s.name, exporter.Namespace).
		WithLabels(l).
		WithOwnerReferences(ownedBy(exporter)).
		WithAddressType(s.family).
		WithPorts(port)
	if was != nil {
		ac.WithUID(was.UID)
	}
	for _, e := range s.endpoints {
		ac.WithEndpoints(discoveryv1ac.Endpoint().
			WithAddresses(e.Addresses...).
			WithNodeName(*e.NodeName).
			WithConditions(discoveryv1ac.EndpointConditions().
				WithReady(*e.Conditions.Ready).WithServing(*e.Conditions.Serving).WithTerminating(*e.Conditions.Terminating)).
			WithTargetRef(corev1ac.ObjectReference().
				WithKind(e.TargetRef.Kind).WithNamespace(e.TargetRef.Namespace).WithName(e.TargetRef.Name).WithUID(e.TargetRef.UID)))
	}
	return ac
}

func ours(exporter *v1alpha1.PrometheusJmxExporter) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.LabelExporterUID: string(exporter.UID)}
}

// serviceLabels returns labels that also allow selecting the Service without knowing the
// exporter's UID.
func serviceLabels(exporter *v1alpha1.PrometheusJmxExporter) map[string]string {
	l := map[string]string(ours(exporter))
	l[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	l[v1alpha1.LabelExporter] = selection.LabelValue(exporter.Name)
	return l
}

func ownedBy(exporter *v1alpha1.PrometheusJmxExporter) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("PrometheusJmxExporter").
		WithName(exporter.Name).WithUID(exporter.UID).WithController(true)
}

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Exporters lists the exporters of a namespace, of all namespaces if it is empty, sorted.
func (c *Cluster) Exporters(ctx context.Context, namespace string) (*v1alpha1.PrometheusJmxExporterList, error) {
	list := &v1alpha1.PrometheusJmxExporterList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, Explain(err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.PrometheusJmxExporter) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Attachments lists the records of a namespace, of all namespaces if it is empty, sorted
// by pod.
func (c *Cluster) Attachments(ctx context.Context, namespace string) (*v1alpha1.JmxAttachmentList, error) {
	list := &v1alpha1.JmxAttachmentList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, Explain(err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.JmxAttachment) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Spec.Pod.Name, b.Spec.Pod.Name), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Exporter returns an exporter of the namespace.
func (c *Cluster) Exporter(ctx context.Context, name string) (*v1alpha1.PrometheusJmxExporter, error) {
	exporter := &v1alpha1.PrometheusJmxExporter{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, exporter)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no PrometheusJmxExporter %s in namespace %s; kubectl jmx status -A lists all", name, c.Namespace)
	}
	return exporter, Explain(err)
}

// Attachment returns the record of a pod of the namespace; nil if there is none. A record
// of an earlier pod of that name yields to that of the present one, which is younger.
func (c *Cluster) Attachment(ctx context.Context, pod string) (*v1alpha1.JmxAttachment, error) {
	list, err := c.Attachments(ctx, c.Namespace)
	if err != nil {
		return nil, err
	}
	var found *v1alpha1.JmxAttachment
	for i := range list.Items {
		record := &list.Items[i]
		if record.Spec.Pod.Name == pod && (found == nil || found.CreationTimestamp.Before(&record.CreationTimestamp)) {
			found = record
		}
	}
	return found, nil
}

// Attached returns the record of a pod, or an error that says how to find out why there is none.
func (c *Cluster) Attached(ctx context.Context, pod string) (*v1alpha1.JmxAttachment, error) {
	record, err := c.Attachment(ctx, pod)
	if err == nil && record == nil {
		return nil, fmt.Errorf("no exporter has a record of pod %s in namespace %s; kubectl jmx why -n %s %s says why", pod, c.Namespace, c.Namespace, pod)
	}
	return record, err
}

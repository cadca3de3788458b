package integration

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podcache"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// cached returns from the API server what the manager's cache would hold: trimmed
// pods, only the operator's Services and EndpointSlices, and managedFields of pods only.
type cached struct{ client.Reader }

// Get implements client.Reader.
func (c cached) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := c.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return trim(o)
	case *corev1.Service, *discoveryv1.EndpointSlice:
		if _, ok := o.GetLabels()[v1alpha1.LabelExporterUID]; !ok {
			return apierrors.NewNotFound(corev1.Resource("cached"), key.Name)
		}
	}
	object.SetManagedFields(nil)
	return nil
}

// List implements client.Reader.
func (c cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	fields := o.FieldSelector
	o.FieldSelector = nil // the API server has no such index
	if err := c.Reader.List(ctx, list, o); err != nil {
		return err
	}
	if records, ok := list.(*v1alpha1.JmxAttachmentList); ok && fields != nil {
		field, index := selection.IndexRecords()
		records.Items = slices.DeleteFunc(records.Items, func(a v1alpha1.JmxAttachment) bool {
			value, indexed := fields.RequiresExactMatch(field)
			return !indexed || !slices.Contains(index(&a), value)
		})
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		if pod, ok := o.(*corev1.Pod); ok {
			return trim(pod)
		}
		o.(client.Object).SetManagedFields(nil)
		return nil
	})
}

func trim(pod *corev1.Pod) error {
	trimmed, err := podcache.Trim(pod)
	if err == nil {
		*pod = *trimmed.(*corev1.Pod)
	}
	return err
}

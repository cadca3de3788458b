package exporter

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// behind is a cache with one exporter that never catches up with the operator's writes.
type behind struct {
	client.Reader
	exporter v1alpha1.PrometheusJmxExporter
}

// Get implements client.Reader: the exporter selects each pod.
func (b *behind) Get(_ context.Context, _ client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !(&client.GetOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits forever")
	}
	pod := object.(*corev1.Pod)
	pod.Labels, pod.Status.Phase = map[string]string{"app": "dummyapp"}, corev1.PodRunning
	return nil
}

// List implements client.Reader.
func (b *behind) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !(&client.ListOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits forever")
	}
	list.(*v1alpha1.PrometheusJmxExporterList).Items = []v1alpha1.PrometheusJmxExporter{b.exporter}
	return nil
}

// Event handlers do not wait for the operator's own writes: a handler has no deadline, and
// later events would wait, too.
func TestEventsDoNotWait(t *testing.T) {
	e := v1alpha1.PrometheusJmxExporter{}
	e.Name, e.UID = "exporter", "exporter"
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
	e.Spec.Config.ConfigMapName = "rules"
	r := &Reconciler{Reader: &behind{exporter: e}}

	pod, sibling, configMap := &corev1.Pod{}, &v1alpha1.PrometheusJmxExporter{}, source.Metadata()
	pod.Labels = map[string]string{"app": "dummyapp"}
	sibling.UID, configMap.Name = "sibling", "rules"
	record := &v1alpha1.JmxAttachment{}
	for name, of := range map[string]func() []reconcile.Request{
		"pod":       func() []reconcile.Request { return r.ofPod(t.Context(), nil, &pod) },
		"exporter":  func() []reconcile.Request { return r.ofSibling(t.Context(), nil, &sibling) },
		"record":    func() []reconcile.Request { return r.ofAttachment(t.Context(), &record, nil)[1:] },
		"ConfigMap": func() []reconcile.Request { return r.ofConfigMap(t.Context(), nil, &configMap) },
	} {
		if got := of(); len(got) != 1 || got[0].Name != "exporter" {
			t.Errorf("event of a %s: got requests %v, want one for the exporter", name, got)
		}
	}
}

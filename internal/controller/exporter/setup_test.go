package exporter

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
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
	switch l := list.(type) {
	case *v1alpha1.PrometheusJmxExporterList:
		l.Items = []v1alpha1.PrometheusJmxExporter{b.exporter}
	case *corev1.PodList:
		l.Items = make([]corev1.Pod, 2)
		l.Items[0].Labels = map[string]string{"app": "dummyapp", "tier": "front"}
		l.Items[1].Labels = map[string]string{"app": "other", "tier": "back"}
	}
	return nil
}

// Event handlers do not wait for the operator's own writes: a handler has no deadline, and
// later events would wait, too.
func TestEventsDoNotWait(t *testing.T) {
	e := v1alpha1.PrometheusJmxExporter{}
	e.Name, e.UID = "exporter", "exporter"
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
	e.Spec.Config.ConfigMapName = "rules"
	r := &Reconciler{Reader: cached.Reader{Reader: &behind{exporter: e}}}

	pod, sibling, configMap := &corev1.Pod{}, &v1alpha1.PrometheusJmxExporter{}, source.Metadata()
	pod.Labels = map[string]string{"app": "dummyapp"}
	sibling.UID, configMap.Name = "sibling", "rules"
	sibling.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"tier": "front"}
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

// An exporter concerns others that select one of its pods.
func TestOfSibling(t *testing.T) {
	e := v1alpha1.PrometheusJmxExporter{}
	e.Name, e.UID = "exporter", "exporter"
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
	r := &Reconciler{Reader: cached.Reader{Reader: &behind{exporter: e}}}
	selecting := func(generation int64, tier v1alpha1.LabelValue) **v1alpha1.PrometheusJmxExporter {
		sibling := &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{UID: "sibling", Generation: generation}}
		sibling.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"tier": tier}
		return &sibling
	}
	for name, tc := range map[string]struct {
		before, after **v1alpha1.PrometheusJmxExporter
		want          int
	}{
		"it selects one of its pods":  {nil, selecting(1, "front"), 1},
		"it did":                      {selecting(1, "front"), selecting(2, "back"), 1},
		"it is deleted":               {selecting(1, "front"), nil, 1},
		"it selects none of its pods": {nil, selecting(1, "back"), 0},
		"only its status changes":     {selecting(1, "front"), selecting(1, "front"), 0},
	} {
		if got := r.ofSibling(t.Context(), tc.before, tc.after); len(got) != tc.want {
			t.Errorf("%s: got requests %v, want %d", name, got, tc.want)
		}
	}
}

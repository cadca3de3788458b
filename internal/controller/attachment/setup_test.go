package attachment

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// behind is a cache with one exporter and its record that never catches up with the
// operator's writes.
type behind struct{ client.Reader }

// List implements client.Reader.
func (behind) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !(&client.ListOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits forever")
	}
	switch l := list.(type) {
	case *v1alpha1.PrometheusJmxExporterList:
		l.Items = make([]v1alpha1.PrometheusJmxExporter, 1)
		l.Items[0].UID, l.Items[0].Spec.Config.ConfigMapName = "exporter", "rules"
	case *v1alpha1.JmxAttachmentList:
		l.Items = make([]v1alpha1.JmxAttachment, 1)
		l.Items[0].Name, l.Items[0].Spec.Exporter.UID = "record", "exporter"
	}
	return nil
}

// Event handlers do not wait for the operator's own writes: a handler has no deadline, and
// later events would wait, too.
func TestEventsDoNotWait(t *testing.T) {
	r := &Reconciler{Reader: behind{}}
	exporter, configMap := &v1alpha1.PrometheusJmxExporter{}, source.Metadata()
	configMap.Name = "rules"
	for name, of := range map[string]func() []reconcile.Request{
		"exporter":  func() []reconcile.Request { return r.ofNamespace(t.Context(), nil, &exporter) },
		"ConfigMap": func() []reconcile.Request { return r.ofConfigMap(t.Context(), nil, &configMap) },
	} {
		if got := of(); len(got) != 1 || got[0].Name != "record" {
			t.Errorf("event of a %s: got requests %v, want one for the record", name, got)
		}
	}
}

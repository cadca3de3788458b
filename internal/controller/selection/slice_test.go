package selection

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An EndpointSlice is the operator's if an exporter controls it and its labels say so: somebody
// else may have written one with half of that.
func TestOwnSlice(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		want   bool
	}{
		"the operator's":      {func(*discoveryv1.EndpointSlice) {}, true},
		"without the manager": {func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelManagedBy) }, false},
		"of the EndpointSlice controller": {func(s *discoveryv1.EndpointSlice) {
			s.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
		}, false},
		"without an owner":                 {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil }, false},
		"with an owner, and no controller": {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences[0].Controller = nil }, false},
		"controlled by a Service":          {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences[0].Kind = "Service" }, false},
		"controlled by another exporter":   {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences[0].UID = "other" }, false},
		"without the exporter's label":     {func(s *discoveryv1.EndpointSlice) { delete(s.Labels, v1alpha1.LabelExporterUID) }, false},
	} {
		s := &discoveryv1.EndpointSlice{}
		s.Labels = map[string]string{discoveryv1.LabelManagedBy: SliceManager, v1alpha1.LabelExporterUID: "uid"}
		s.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "PrometheusJmxExporter", Name: "exporter", UID: "uid", Controller: new(true),
		}}
		tc.change(s)
		if got := OwnSlice(s); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

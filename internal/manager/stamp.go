package manager

import (
	"slices"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Stamps reports whether the API server serves MutatingAdmissionPolicies, with which
// config/stamp records on an exporter who wrote its spec; it logs if it does not. Without a
// stamp, the annotations of one are what anybody wrote, and are ignored. If the API server does
// not answer, they count.
func Stamps(log logr.Logger, api discovery.ServerResourcesInterface) bool {
	served, err := api.ServerResourcesForGroupVersion(admissionregistrationv1.SchemeGroupVersion.String())
	switch {
	case err != nil:
		log.Error(err, "cannot discover whether the API server has MutatingAdmissionPolicy")
	case !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == "MutatingAdmissionPolicy" }):
		log.Info("the API server does not serve MutatingAdmissionPolicy; the rights of users who wrote exporters are not reviewed before attaching, and the annotation " + v1alpha1.AnnotationRequester + " is ignored")
		return false
	}
	return true
}

// withoutStamps returns a transformation of the cache that removes the annotations of a stamp
// from exporters, before another one.
func withoutStamps(then func(any) (any, error)) func(any) (any, error) {
	return func(object any) (any, error) {
		if exporter, ok := object.(*v1alpha1.PrometheusJmxExporter); ok { // or a tombstone
			delete(exporter.Annotations, v1alpha1.AnnotationRequester)
			delete(exporter.Annotations, v1alpha1.AnnotationRequesterGroups)
		}
		return then(object)
	}
}

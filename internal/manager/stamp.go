package manager

import (
	"slices"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// LogStamp logs if the API server has no MutatingAdmissionPolicy, with which
// config/stamp records on an exporter who wrote its spec: without it, nobody's rights
// are checked.
func LogStamp(log logr.Logger, api discovery.ServerResourcesInterface) {
	served, err := api.ServerResourcesForGroupVersion(admissionregistrationv1.SchemeGroupVersion.String())
	switch {
	case err != nil:
		log.Error(err, "cannot discover whether the API server has MutatingAdmissionPolicy")
	case !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == "MutatingAdmissionPolicy" }):
		log.Info("the API server does not serve MutatingAdmissionPolicy; the rights of users who wrote exporters are not reviewed before attaching")
	}
}

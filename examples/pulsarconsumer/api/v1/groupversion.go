// Package v1 is the API of the operator: a PulsarConsumer deploys an application that
// consumes a Pulsar topic and logs each message. Group, kind and field names are those
// of the operator that it is modeled on.
//
// +kubebuilder:object:generate=true
// +groupName=pulsar.pulsarconsumer.krvarma.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "pulsar.pulsarconsumer.krvarma.com", Version: "v1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PulsarConsumer{}, &PulsarConsumerList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Package v1 is the API of the operator: a PulsarConsumer deploys an application that
// consumes a Pulsar topic and logs each message. Group, kind and field names are those
// of the operator that it is modeled on.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=pulsar.pulsarconsumer.krvarma.com
package v1

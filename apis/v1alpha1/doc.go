// Package v1alpha1 contains the API of the JMX exporter operator: PrometheusJmxExporter,
// which users write, and JmxAttachment, which the operator writes for every pod that an
// exporter selects.
//
// Group, kind and field names of PrometheusJmxExporter are those of the 2018 operator,
// so that its manifests apply unchanged.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=banzaicloud.com
package v1alpha1

// Package v1alpha1 is the API of the operator: a Skeleton runs an image in a Deployment.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=example.com
package v1alpha1

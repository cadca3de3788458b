// Package v1 is the API of the operator: a PostgresCluster is a PostgreSQL primary with
// standbys that acknowledge each commit. Group and kind are those of the workshop that
// it is modeled on.
//
// +kubebuilder:object:generate=true
// +groupName=lukeb0nd.com
package v1

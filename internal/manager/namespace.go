package manager

import (
	"os"
	"strings"
)

// OwnNamespace returns the operator's own namespace: POD_NAMESPACE, or that of its
// service account; empty outside a cluster.
func OwnNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(namespace))
}

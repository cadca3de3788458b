package endpoint

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/pkg/endpointsecurity"
)

// Username returns the user name in the Secret that secures the endpoints of an exporter.
// The Secret has only a hash of the password.
func Username(ctx context.Context, c *cluster.Cluster, namespace, exporter string) (string, error) {
	in := *c
	in.Namespace = namespace
	e, err := in.Exporter(ctx, exporter)
	if err != nil {
		return "", err
	}
	if e.Spec.EndpointSecurity == nil {
		return "", fmt.Errorf("exporter %s has no spec.endpointSecurity, so no password is needed: omit --password-file", exporter)
	}
	name := e.Spec.EndpointSecurity.SecretName
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		return "", fmt.Errorf("the user name is in Secret %s; give it with --username, or get the right to read the Secret: %w", name, cluster.Explain(err))
	}
	user, ok := secret.Data[endpointsecurity.KeyUsername]
	if !ok {
		return "", fmt.Errorf("secret %s has no user name, so no password is needed: omit --password-file", name)
	}
	return string(user), nil
}

package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// ensureSecret has the Secret with the password, if the operator made it, stay or go with the claims.
func (r *Reconciler) ensureSecret(ctx context.Context, c *cluster) *statemachine.Outcome {
	if c.password == "" {
		return nil
	}
	owned, err := corev1ac.ExtractSecret(c.secret, string(owner))
	goes := c.object.Spec.Storage.WhenDeleted == v1.Delete
	if err != nil || len(owned.Labels) == 0 || metav1.IsControlledBy(c.secret, c.object) == goes {
		return nil
	}
	return r.applySecret(ctx, c, c.wantedSecret(c.password).WithUID(c.secret.UID))
}

// applySecret is not forced: a password that somebody chose in the meantime stands.
func (r *Reconciler) applySecret(ctx context.Context, c *cluster, wanted *corev1ac.SecretApplyConfiguration) *statemachine.Outcome {
	name := secretName(c.object.Name)
	if err := apply.New(r.Live, r.Seam).Shared(ctx, owner, c.object.Namespace+"/"+name, wanted); err != nil {
		return fails(ReasonAPIError, err, "The Secret %s could not be applied; see status.attempt.lastError.", name)
	}
	return nil
}

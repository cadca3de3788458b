package controller

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// ensureBudget has evictions, such as those of kubectl drain, take one member at a time: the next
// one only when the one before is ready again.
func (r *Reconciler) ensureBudget(ctx context.Context, c *cluster) *statemachine.Outcome {
	wanted := c.wantedBudget()
	if c.budget != nil && c.owns(c.budget) && stands(c.budget, policyv1ac.ExtractPodDisruptionBudget, wanted) {
		return nil
	}
	return ensureOwned(ctx, r, c, c.budget, wanted)
}

// wantedBudget returns the PodDisruptionBudget of all members. The API server knows by the scale
// subresource how many there are to be.
func (c *cluster) wantedBudget() *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	budget := policyv1ac.PodDisruptionBudget(c.object.Name, c.object.Namespace).WithLabels(labelsOf(c.object.Name)).WithOwnerReferences(c.owner()).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().WithMaxUnavailable(intstr.FromInt32(1)).
			// One that is not ready anyway may go.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(c.object.Name))))
	return budget.WithAnnotations(digested(budget))
}

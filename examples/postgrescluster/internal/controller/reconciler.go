// Package controller leads a PostgresCluster through its phases. A reconcile reads the API
// and asks the members, takes the record back to where it is true, and walks on from there.
// Whatever the operator is about to do that it must not forget stands in the record before.
package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The field owners: one for each concern.
const (
	owner       client.FieldOwner = "postgrescluster-operator"
	ownerRole   client.FieldOwner = "postgrescluster-operator/role"
	ownerRecord client.FieldOwner = "postgrescluster-operator/record"
	ownerStatus client.FieldOwner = "postgrescluster-operator/status"
)

// Reconciler reconciles PostgresClusters. All fields are required.
type Reconciler struct {
	Reader client.Reader
	// Live reads the PostgresCluster, and reads and writes Secrets, one by one, past any cache:
	// by a record that is not the last one, an operator that was just elected would act for a
	// primary whose place was taken.
	Live  client.Client
	Apply *apply.Client
	// Events records what a person must know of that the status does not say for long.
	Events events.EventRecorder
	// Seam is what statements pass.
	Seam effects.Seam
	// Image is that of the members where the object names none.
	Image string
	Clock clock.PassiveClock

	pacing *pacing
}

// applyObject applies an object; nil on success.
func (r *Reconciler) applyObject(ctx context.Context, owner client.FieldOwner, name, what string, object runtime.ApplyConfiguration) *statemachine.Outcome {
	err := r.Apply.Object(ctx, owner, name, object)
	switch {
	case err == nil:
		return nil
	case apply.IsRejected(err):
		return fails(ReasonObjectRefused, err, "The API server rejected the %s %s: %v", what, name, err)
	}
	return fails(ReasonAPIError, err, "The %s %s could not be applied; see status.attempt.lastError.", what, name)
}

func (r *Reconciler) remove(ctx context.Context, object client.Object) *statemachine.Outcome {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := r.Apply.Delete(ctx, object); err != nil {
		return fails(ReasonAPIError, err, "%s could not be deleted; see status.attempt.lastError.", apply.Name(object))
	}
	return nil
}

package controller

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// serve is the step to Serving: the Service -rw leads to the primary, -ro to the standbys.
type serve struct {
	statemachine.NoUndo[*cluster]
	*Reconciler
}

// Phase implements statemachine.Step.
func (serve) Phase() statemachine.Phase { return Serving }

// Ensure implements statemachine.Step.
func (r serve) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	var failed *statemachine.Outcome
	for role := range servicesByRole {
		if o := r.ensureService(ctx, c, c.clientService(role)); failed == nil {
			failed = o
		}
	}
	// Who is not the primary any more first: -rw never leads to two.
	for _, role := range []string{roleDiverged, roleReplica, rolePrimary} {
		for name := range c.pods {
			if c.role(name) != role {
				continue
			}
			if o := r.ensureRole(ctx, c, name); o != nil {
				return *o
			}
		}
	}
	if failed != nil { // a Service that is not as it is wanted still selects by the labels
		return *failed
	}
	return done
}

package controller

import (
	"cmp"
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// synchronize is the step to Synchronous: enough standbys acknowledge each commit.
type synchronize struct {
	statemachine.NoUndo[*cluster]
	*Reconciler
}

// Phase implements statemachine.Step.
func (synchronize) Phase() statemachine.Phase { return Synchronous }

// Announce implements statemachine.Announcer.
func (synchronize) Announce(_ context.Context, c *cluster) *statemachine.Outcome {
	return announceVoters(c)
}

// Ensure implements statemachine.Step.
func (r synchronize) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	if o := c.primaryLost(); o != nil {
		return *o
	}
	if o := r.applyVoters(ctx, c); o != nil {
		return *o
	}
	// A cluster of several begins to serve when the first standby acknowledges.
	if len(c.record.Voters) < min(2, int(c.object.Spec.Size)) {
		return *r.grow(ctx, c)
	}
	if o := c.quorumMissing(); o != nil {
		return *cmp.Or(c.kept, o)
	}
	return done
}

// grow starts the next member that is wanted and does not acknowledge yet, one at a time.
func (r *Reconciler) grow(ctx context.Context, c *cluster) *statemachine.Outcome {
	for _, name := range c.wanted() {
		if slices.Contains(c.record.Voters, name) {
			continue
		}
		if o := r.ensureMember(ctx, c, name); o != nil {
			return o
		}
		reason, message := c.notReadyReason(name)
		if reason == ReasonMemberStarting {
			reason, message = ReasonJoining, "The member "+name+" is joining: copying data or catching up."
		}
		return fails(reason, nil, "%s", message)
	}
	return nil
}

package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// complete is the step to Complete: as many members as are wanted, all in replication.
type complete struct {
	statemachine.NoUndo[*cluster]
	*Reconciler
}

// Phase implements statemachine.Step.
func (complete) Phase() statemachine.Phase { return Complete }

// Announce implements statemachine.Announcer.
func (complete) Announce(_ context.Context, c *cluster) *statemachine.Outcome {
	return announceVoters(c)
}

// Ensure implements statemachine.Step.
func (r complete) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	if o := c.primaryLost(); o != nil {
		return *o
	}
	if o := r.applyVoters(ctx, c); o != nil {
		return *o
	}
	if c.kept != nil {
		return *c.kept
	}
	if o := r.grow(ctx, c); o != nil {
		return *o
	}
	extra := c.extra()
	if len(extra) > 0 { // by a record that still has them as voters, the next operator would start them again
		if err := c.pass.Persist(ctx); err != nil {
			return *fails(ReasonAPIError, err, "Recording the members failed; see status.attempt.lastError.")
		}
	}
	for _, object := range extra {
		if o := r.remove(ctx, object); o != nil {
			return *o
		}
		delete(c.pods, object.GetName())
		delete(c.services, object.GetName())
	}
	if o := r.ensureBackups(ctx, c); o != nil {
		return *o
	}
	if o := c.incomplete(); o != nil {
		return *o
	}
	if name := c.outdatedMember(); name != "" {
		if o := r.remove(ctx, c.pods[name]); o != nil {
			return *o
		}
		return *updating(name)
	}
	return done
}

// extra returns the pods and Services of members that are not wanted and do not acknowledge
// commits any more. Their claims stay: they are members again when the cluster grows.
func (c *cluster) extra() []client.Object {
	var objects []client.Object
	members := c.members()
	for ordinal := range maxMembers {
		name := memberName(c.object.Name, ordinal)
		if slices.Contains(members, name) {
			continue
		}
		if pod := c.pods[name]; pod != nil && c.owns(pod) && pod.DeletionTimestamp.IsZero() {
			objects = append(objects, pod)
		}
		if service := c.services[name]; service != nil && c.owns(service) {
			objects = append(objects, service)
		}
	}
	return objects
}

// incomplete returns which members are missing or too many; nil if none are.
func (c *cluster) incomplete() *statemachine.Outcome {
	wanted, streaming := c.wanted(), c.streaming()
	for _, name := range wanted {
		if !slices.Contains(streaming, name) {
			reason, message := c.notReadyReason(name)
			if reason == ReasonMemberStarting {
				reason = ReasonJoining
			}
			return fails(reason, nil, "%s", message)
		}
	}
	if voters := c.voters(); !slices.Equal(voters, wanted) {
		return fails(ReasonResizing, nil, "Members %v are to acknowledge commits; currently %v do.", wanted, voters)
	}
	if extra := c.extra(); len(extra) > 0 {
		return fails(ReasonResizing, nil, "The member %s is surplus; deleting.", extra[0].GetName())
	}
	return nil
}

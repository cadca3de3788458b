package controller

import (
	"context"
	"maps"
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// outdated returns which claim, Service of a member, pod or CronJob is not as the spec has it; nil if
// all are.
func (c *cluster) outdated() *statemachine.Outcome {
	if names := c.changedClaims(); len(names) > 0 {
		return fails(ReasonClaimsChanged, nil, "The claim %s differs from spec.storage; updating.", names[0])
	}
	if names := c.changedServices(); len(names) > 0 {
		return fails(ReasonServicesChanged, nil, "The Service %s was changed; restoring.", names[0])
	}
	if !c.backedUp() {
		return fails(ReasonBackupsChanged, nil, "The CronJob %s differs from spec.backup; updating.", backupName(c.object.Name))
	}
	if name := c.outdatedMember(); name != "" {
		return updating(name)
	}
	return nil
}

func updating(name string) *statemachine.Outcome {
	return fails(ReasonUpdating, nil, "The spec of the pod %s changed; replacing it. Members are replaced one at a time, the primary last.", name)
}

// changedClaims returns the names of the claims that are not as they are wanted, those of
// former members too: whether they outlive the PostgresCluster is for its spec to say.
func (c *cluster) changedClaims() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.claims)), func(name string) bool {
		claim := c.claims[name]
		return !c.owns(claim) || stands(claim, corev1ac.ExtractPersistentVolumeClaim, c.wantedClaim(name))
	})
}

// ensureClaims updates claims. A storage class that cannot expand refuses more storage.
func (r *Reconciler) ensureClaims(ctx context.Context, c *cluster) *statemachine.Outcome {
	for _, name := range c.changedClaims() {
		if o := r.applyClaim(ctx, c, name); o != nil {
			return o
		}
	}
	return nil
}

// applyClaim applies a claim that was read, as it is wanted. Its record may be applied next.
func (r *Reconciler) applyClaim(ctx context.Context, c *cluster, name string) *statemachine.Outcome {
	claim, wanted := c.claims[name], c.wantedClaim(name)
	if o := r.applyObject(ctx, owner, claim.Namespace+"/"+name, "claim", wanted.WithUID(claim.UID)); o != nil {
		return o
	}
	claim.ResourceVersion = *wanted.ResourceVersion
	return nil
}

// changedServices returns the names of the members whose own Service is not as it is wanted.
func (c *cluster) changedServices() []string {
	return slices.DeleteFunc(c.members(), func(name string) bool {
		s := c.services[name]
		return s == nil || !c.owns(s) || c.stands(c.memberService(name))
	})
}

// ensureMemberServices restores the Services of members. Those that are missing are for
// ensureMember.
func (r *Reconciler) ensureMemberServices(ctx context.Context, c *cluster) *statemachine.Outcome {
	for _, name := range c.changedServices() {
		if o := r.ensureService(ctx, c, c.memberService(name)); o != nil {
			return o
		}
	}
	return nil
}

// outdatedMember returns the next member whose pod is to be replaced, the primary last; empty
// if there is none.
func (c *cluster) outdatedMember() string {
	for _, name := range append(standbysOf(c.wanted(), c.record.Primary), c.record.Primary) {
		if pod := c.pods[name]; pod != nil && pod.Annotations[annotationTemplate] != c.template() {
			return name
		}
	}
	return ""
}

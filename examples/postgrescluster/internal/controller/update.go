package controller

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// outdated is that a claim, a pod or the CronJob is not as the spec has it.
func (c *cluster) outdated() *statemachine.Outcome {
	if names := c.changedClaims(); len(names) > 0 {
		return fails(ReasonClaimsChanged, nil, "The claim %s is not as spec.storage has it; updating.", names[0])
	}
	if !c.backedUp() {
		return fails(ReasonBackupsChanged, nil, "The CronJob %s is not as spec.backup has it; updating.", backupName(c.object.Name))
	}
	if name := c.outdatedMember(); name != "" {
		return updating(name)
	}
	return nil
}

func updating(name string) *statemachine.Outcome {
	return fails(ReasonUpdating, nil, "The spec of the pod %s changed; replacing it. Members are replaced one at a time, the primary last.", name)
}

// changedClaims are the names of the claims that are not as they are wanted, those of
// former members too: whether they outlive the PostgresCluster is for its spec to say.
func (c *cluster) changedClaims() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.claims)), func(name string) bool {
		claim := c.claims[name]
		owned, err := corev1ac.ExtractPersistentVolumeClaim(claim, string(owner))
		return !c.owns(claim) || err == nil && equality.Semantic.DeepEqual(owned, c.wantedClaim(name))
	})
}

// ensureClaims updates claims. A storage class that cannot expand refuses more storage.
func (r *Reconciler) ensureClaims(ctx context.Context, c *cluster) *statemachine.Outcome {
	for _, name := range c.changedClaims() {
		wanted := c.wantedClaim(name).WithUID(c.claims[name].UID)
		if o := r.applyObject(ctx, owner, c.object.Namespace+"/"+name, "claim", wanted); o != nil {
			return o
		}
	}
	return nil
}

// outdatedMember is the next member whose pod is to be replaced, the primary last; empty
// if there is none.
func (c *cluster) outdatedMember() string {
	spec := c.object.Spec
	for _, name := range append(standbysOf(c.wanted(), c.record.Primary), c.record.Primary) {
		pod := c.pods[name]
		if pod == nil {
			continue
		}
		apart := pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAntiAffinity != nil
		if pod.Spec.Containers[0].Image != c.image || apart != spec.AntiAffinity || !equality.Semantic.DeepEqual(pod.Spec.NodeSelector, spec.NodeSelector) {
			return name
		}
	}
	return ""
}

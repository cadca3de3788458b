package controller

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// foreign returns an object that is not this cluster's, of a name that it needs; nil if there is
// none.
func (c *cluster) foreign() client.Object {
	for _, name := range c.members() {
		if o := c.foreignTo(name); o != nil {
			return o
		}
	}
	if c.object.Spec.Backup != nil && c.cronJob != nil && !c.owns(c.cronJob) {
		return c.cronJob
	}
	if c.budget != nil && !c.owns(c.budget) {
		return c.budget
	}
	for _, name := range []string{c.object.Name + "-rw", c.object.Name + "-ro"} {
		if o := c.services[name]; o != nil && !c.owns(o) {
			return o
		}
	}
	return nil
}

// foreignTo returns such an object in the place of one of a member.
func (c *cluster) foreignTo(name string) client.Object {
	if o := c.services[name]; o != nil && !c.owns(o) {
		return o
	}
	if o := c.claims[name]; o != nil && !c.owns(o) && !c.adoptable(o) {
		return o
	}
	if o := c.pods[name]; o != nil && !c.owns(o) {
		return o
	}
	return nil
}

// kindName returns the kind of an object that this operator reads.
func kindName(object client.Object) string {
	switch object.(type) {
	case *corev1.Service:
		return "Service"
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	case *batchv1.CronJob:
		return "CronJob"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	}
	return "Pod"
}

// nameTaken returns the outcome where an object of a name that is needed belongs to somebody else. A
// claim may be what a cluster left that was deleted with storage.whenDeleted Retain.
func (c *cluster) nameTaken(o client.Object) *statemachine.Outcome {
	claim, is := o.(*corev1.PersistentVolumeClaim)
	if !is {
		return fails(ReasonNameTaken, nil, "The %s %s does not belong to this PostgresCluster. Delete it, or choose another name.", kindName(o), o.GetName())
	}
	const taken = "The PersistentVolumeClaim %s does not belong to this PostgresCluster, and may hold the only copy of the data of an earlier one. "
	if record, err := c.recorded(claim); err == nil && record != nil && c.record.SystemIdentifier == "" {
		return fails(ReasonNameTaken, nil, taken+"To take over that data, set spec.adopt to Claims; or choose another name.", o.GetName())
	}
	return fails(ReasonNameTaken, nil, taken+"Choose another name; or copy what it holds, and remove it only then.", o.GetName())
}

package controller

import (
	"context"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// serve brings Serving about: the Service -rw leads to the primary, -ro to the standbys.
type serve struct{ *Reconciler }

// Phase implements statemachine.Step.
func (serve) Phase() statemachine.Phase { return Serving }

// The Services that clients use, by the role that they select.
var servicesByRole = map[string]string{rolePrimary: "-rw", roleReplica: "-ro"}

// Ensure implements statemachine.Step.
func (r serve) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	for role, suffix := range servicesByRole {
		if c.leads(role) {
			continue
		}
		name := c.object.Name + suffix
		service := c.wantedService(name, map[string]string{labelRole: role}, false)
		if s := c.services[name]; s != nil {
			service.WithUID(s.UID)
		}
		if o := r.applyObject(ctx, owner, c.object.Namespace+"/"+name, "Service", service); o != nil {
			return *o
		}
	}
	// Who is not the primary any more first: -rw never leads to two.
	for _, role := range []string{roleReplica, rolePrimary} {
		for name, pod := range c.pods {
			if !c.owns(pod) || c.role(name) != role || pod.Labels[labelRole] == role {
				continue
			}
			label := corev1ac.Pod(name, pod.Namespace).WithUID(pod.UID).WithLabels(map[string]string{labelRole: role})
			if o := r.applyObject(ctx, ownerRole, c.object.Namespace+"/"+name, "label of the pod", label); o != nil {
				return *o
			}
			pod.Labels[labelRole] = role
		}
	}
	return done
}

// Undo implements statemachine.Step.
func (serve) Undo(context.Context, *cluster) statemachine.Outcome { return done }

// role is that of a member.
func (c *cluster) role(name string) string {
	if name == c.record.Primary {
		return rolePrimary
	}
	return roleReplica
}

// leads reports whether the Service of a role is as it is wanted.
func (c *cluster) leads(role string) bool {
	name := c.object.Name + servicesByRole[role]
	s := c.services[name]
	if s == nil {
		return false
	}
	owned, err := corev1ac.ExtractService(s, string(owner))
	return err == nil && apply.Stands(owned, c.wantedService(name, map[string]string{labelRole: role}, false))
}

// servicesChanged is that clients are not led to where they should be.
func (c *cluster) servicesChanged() *statemachine.Outcome {
	for role, suffix := range servicesByRole {
		if !c.leads(role) {
			return fails(ReasonServicesChanged, nil, "The Service %s is missing or was changed; restoring.", c.object.Name+suffix)
		}
	}
	for name, pod := range c.pods {
		if c.owns(pod) && pod.Labels[labelRole] != c.role(name) {
			return fails(ReasonServicesChanged, nil, "The pod %s is not labeled as %s; restoring.", name, c.role(name))
		}
	}
	return nil
}

package controller

import (
	"context"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The Services that clients use, by the role that they select.
var servicesByRole = map[string]string{rolePrimary: "-rw", roleReplica: "-ro"}

// role returns that of a member. One that diverged serves no reads, also while there is no primary to
// compare it with.
func (c *cluster) role(name string) string {
	switch {
	case name == c.record.Primary:
		return rolePrimary
	case c.diverged(name) != "", c.primary() == nil && c.pods[name] != nil && c.pods[name].Labels[labelRole] == roleDiverged:
		return roleDiverged
	}
	return roleReplica
}

// ensureRole has a member's pod have the label of its role.
func (r *Reconciler) ensureRole(ctx context.Context, c *cluster, name string) *statemachine.Outcome {
	pod, role := c.pods[name], c.role(name)
	if !c.owns(pod) || pod.Labels[labelRole] == role {
		return nil
	}
	label := corev1ac.Pod(name, pod.Namespace).WithUID(pod.UID).WithLabels(map[string]string{labelRole: role})
	if o := r.applyObject(ctx, ownerRole, c.object.Namespace+"/"+name, "label of the pod", label); o != nil {
		return o
	}
	pod.Labels[labelRole] = role
	return nil
}

// clientService returns the Service that leads clients to the members of a role.
func (c *cluster) clientService(role string) *corev1ac.ServiceApplyConfiguration {
	return c.wantedService(c.object.Name+servicesByRole[role], map[string]string{labelRole: role}, false)
}

// memberService returns a member's own Service.
func (c *cluster) memberService(name string) *corev1ac.ServiceApplyConfiguration {
	return c.wantedService(name, map[string]string{labelMember: name}, true)
}

// stands reports whether a Service is as it is wanted.
func (c *cluster) stands(wanted *corev1ac.ServiceApplyConfiguration) bool {
	s := c.services[*wanted.Name]
	return s != nil && stands(s, corev1ac.ExtractService, wanted)
}

// ensureService has a Service be as it is wanted.
func (r *Reconciler) ensureService(ctx context.Context, c *cluster, wanted *corev1ac.ServiceApplyConfiguration) *statemachine.Outcome {
	s := c.services[*wanted.Name]
	if s != nil && c.owns(s) && c.stands(wanted) {
		return nil
	}
	return ensureOwned(ctx, r, c, s, wanted)
}

// servicesChanged returns why clients are not led to where they should be; nil if they are.
func (c *cluster) servicesChanged() *statemachine.Outcome {
	for role, suffix := range servicesByRole {
		if !c.stands(c.clientService(role)) {
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

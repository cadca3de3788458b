package transport

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// User is the user and group that a process runs as.
type User struct{ UID, GID int64 }

// anyUser is the user of a door that has to find out the JVM's user: it can see the users
// of the processes, but cannot inspect any process.
var anyUser = User{65532, 65532}

// ephemeralContainer returns a door with the rights of its target and no more, so that a
// namespace that admits the target also admits the door. These rights suffice: the kernel
// lets a process inspect another one that has the same user and group and no further
// capabilities (ptrace(2)).
func (d *Door) ephemeralContainer(pod *corev1.Pod, in Container, name string) (*corev1ac.EphemeralContainerApplyConfiguration, error) {
	target := ContainerNamed(pod, in.Name)
	if target == nil {
		return nil, &Error{Reason: v1alpha1.ReasonPodGone, Message: "The pod has no container " + in.Name + "."}
	}
	security, err := d.securityContext(pod, target, in)
	if err != nil {
		return nil, err
	}
	return corev1ac.EphemeralContainer().
		WithName(name).
		WithTargetContainerName(in.Name).
		WithImage(d.Image).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand(helperapi.DoorProgram, string(helperapi.VerbDoor), fmt.Sprintf("--idle=%s", d.Idle)).
		WithEnv(corev1ac.EnvVar().WithName(helperapi.DoorTarget).WithValue(runtimeID(in))).
		WithTerminationMessagePolicy(corev1.TerminationMessageReadFile).
		WithSecurityContext(security), nil
}

func (d *Door) securityContext(pod *corev1.Pod, target *corev1.Container, in Container) (*corev1ac.SecurityContextApplyConfiguration, error) {
	user := userOf(pod, target, in)
	stated := corev1.SecurityContext{
		RunAsUser: &user.UID, RunAsGroup: &user.GID,
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if user.UID != 0 {
		stated.RunAsNonRoot = new(true)
	}
	if of := target.SecurityContext; of != nil {
		stated.SeccompProfile, stated.SELinuxOptions, stated.AppArmorProfile = of.SeccompProfile, of.SELinuxOptions, of.AppArmorProfile
	}
	if user.UID == 0 { // other users have no capabilities to begin with
		stated.Capabilities = capabilities(target)
		if of := target.SecurityContext; of != nil {
			stated.RunAsNonRoot = of.RunAsNonRoot // the target may override the pod
		}
	}
	data, err := json.Marshal(stated)
	if err != nil {
		return nil, err
	}
	ac := corev1ac.SecurityContext()
	return ac, json.Unmarshal(data, ac)
}

// capabilities returns those of the target except CAP_SYS_ADMIN, and ALL, which includes
// it: the API rejects it without privilege escalation. A target that has it cannot be
// inspected (UserMismatch).
func capabilities(target *corev1.Container) *corev1.Capabilities {
	if target.SecurityContext == nil || target.SecurityContext.Capabilities == nil {
		return nil
	}
	caps := target.SecurityContext.Capabilities.DeepCopy()
	caps.Add = slices.DeleteFunc(caps.Add, func(c corev1.Capability) bool { return c == "SYS_ADMIN" || c == "CAP_SYS_ADMIN" || c == "ALL" })
	return caps
}

// userOf returns the user that the door runs as. In order of preference, it is the JVM's
// user as found by an inspection through another door, the user that the kubelet reports,
// the user in the spec, the user that the JVM is known to run as, and anyUser.
func userOf(pod *corev1.Pod, target *corev1.Container, in Container) User {
	if in.User != nil {
		return *in.User
	}
	for _, s := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if s.Name == target.Name && s.User != nil && s.User.Linux != nil {
			return User{s.User.Linux.UID, s.User.Linux.GID}
		}
	}
	ofContainer, ofPod := target.SecurityContext, pod.Spec.SecurityContext
	var user User
	fallback := ptr.Deref(in.JVMUser, anyUser)
	switch {
	case ofContainer != nil && ofContainer.RunAsUser != nil:
		user.UID = *ofContainer.RunAsUser
	case ofPod != nil && ofPod.RunAsUser != nil:
		user.UID = *ofPod.RunAsUser
	default:
		return fallback
	}
	switch {
	case ofContainer != nil && ofContainer.RunAsGroup != nil:
		user.GID = *ofContainer.RunAsGroup
	case ofPod != nil && ofPod.RunAsGroup != nil:
		user.GID = *ofPod.RunAsGroup
	default: // the image determines the group
		return fallback
	}
	return user
}

// ContainerNamed returns the container or init container of that name in the pod's spec,
// or nil if there is none.
func ContainerNamed(pod *corev1.Pod, name string) *corev1.Container {
	all := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
	if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

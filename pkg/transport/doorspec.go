package transport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// DoorOptions configures the ephemeral containers.
type DoorOptions struct {
	// Image is the operator's own image.
	Image string
	// Idle is the time without a session after which a door exits; 0 means never.
	Idle time.Duration
}

// anyUser is the user of a door that has to find out the JVM's user: it can see the users
// of the processes, but cannot inspect any process.
var anyUser = User{65532, 65532}

// ephemeralContainer returns a door with the rights of its target and no more, so that a
// namespace that admits the target also admits the door. These rights suffice: the kernel
// lets a process inspect another one that has the same user and group and no further
// capabilities (ptrace(2)).
func (o DoorOptions) ephemeralContainer(of *corev1.Pod, in Container, name string) (*corev1ac.EphemeralContainerApplyConfiguration, error) {
	target := pod.Named(of, in.Name)
	if target == nil {
		return nil, &Error{Reason: v1alpha1.ReasonPodGone, Message: "The pod has no container " + in.Name + "."}
	}
	security, err := securityContext(of, target, in)
	if err != nil {
		return nil, err
	}
	return corev1ac.EphemeralContainer().
		WithName(name).
		WithTargetContainerName(in.Name).
		WithImage(o.Image).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand(helperapi.DoorProgram, string(helperapi.VerbDoor), fmt.Sprintf("--idle=%s", o.Idle)).
		WithEnv(corev1ac.EnvVar().WithName(helperapi.DoorTarget).WithValue(in.runtimeID())).
		WithTerminationMessagePolicy(corev1.TerminationMessageReadFile).
		WithSecurityContext(security), nil
}

func securityContext(pod *corev1.Pod, target *corev1.Container, in Container) (*corev1ac.SecurityContextApplyConfiguration, error) {
	user, of := userOf(pod, target, in), ptr.Deref(target.SecurityContext, corev1.SecurityContext{})
	stated := corev1.SecurityContext{
		RunAsUser: &user.UID, RunAsGroup: &user.GID, RunAsNonRoot: new(true),
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: of.SeccompProfile, SELinuxOptions: of.SELinuxOptions, AppArmorProfile: of.AppArmorProfile,
	}
	if user.UID == 0 { // other users have no capabilities to begin with
		stated.Capabilities, stated.RunAsNonRoot = capabilities(of), of.RunAsNonRoot // the target may override the pod
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
func capabilities(target corev1.SecurityContext) *corev1.Capabilities {
	if target.Capabilities == nil {
		return nil
	}
	caps := target.Capabilities.DeepCopy()
	caps.Add = slices.DeleteFunc(caps.Add, func(c corev1.Capability) bool { return c == "SYS_ADMIN" || c == "CAP_SYS_ADMIN" || c == "ALL" })
	return caps
}

// userOf returns the user that the door runs as. In order of preference, it is the JVM's
// user as found by an inspection through another door, the user that the kubelet reports,
// the user and group in the spec, the user that the JVM is known to run as, the user in the
// spec with the group of a user that is not in the image's /etc/passwd, and anyUser.
func userOf(pod *corev1.Pod, target *corev1.Container, in Container) User {
	if in.User != nil {
		return *in.User
	}
	for _, s := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if s.Name == target.Name && s.User != nil && s.User.Linux != nil {
			return User{s.User.Linux.UID, s.User.Linux.GID}
		}
	}
	ofContainer, ofPod := ptr.Deref(target.SecurityContext, corev1.SecurityContext{}), ptr.Deref(pod.Spec.SecurityContext, corev1.PodSecurityContext{})
	uid, gid := cmp.Or(ofContainer.RunAsUser, ofPod.RunAsUser), cmp.Or(ofContainer.RunAsGroup, ofPod.RunAsGroup)
	switch {
	case uid != nil && gid != nil:
		return User{*uid, *gid}
	case in.JVMUser != nil:
		return *in.JVMUser
	case uid != nil: // a namespace may admit no other user, as those of OpenShift do
		return User{*uid, 0}
	default: // the image determines it
		return anyUser
	}
}

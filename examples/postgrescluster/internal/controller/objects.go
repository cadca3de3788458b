package controller

import (
	"fmt"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

func (c *cluster) owner() *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().WithAPIVersion(v1.GroupVersion.String()).WithKind("PostgresCluster").
		WithName(c.object.Name).WithUID(c.object.UID).WithController(true).WithBlockOwnerDeletion(true)
}

// wantedSecret returns the Secret with this password, where nobody else made one. It stays as long as the
// claims: without the password, nobody gets at their data.
func (c *cluster) wantedSecret(password string) *corev1ac.SecretApplyConfiguration {
	secret := corev1ac.Secret(secretName(c.object.Name), c.object.Namespace).WithLabels(labelsOf(c.object.Name)).
		WithData(map[string][]byte{passwordKey: []byte(password)})
	if c.object.Spec.Storage.WhenDeleted == v1.Delete {
		secret.WithOwnerReferences(c.owner())
	}
	return secret
}

// wantedService returns the Service of this name: of a member, -rw or -ro.
func (c *cluster) wantedService(name string, selector map[string]string, evenNotReady bool) *corev1ac.ServiceApplyConfiguration {
	service := corev1ac.Service(name, c.object.Namespace).WithLabels(labelsOf(c.object.Name)).WithOwnerReferences(c.owner()).
		WithSpec(corev1ac.ServiceSpec().WithSelector(labelsOf(c.object.Name)).WithSelector(selector).
			WithPorts(corev1ac.ServicePort().WithName("postgres").WithProtocol(corev1.ProtocolTCP).WithPort(member.Port).
				WithTargetPort(intstr.FromString("postgres"))))
	if evenNotReady {
		service.Spec.WithPublishNotReadyAddresses(true)
	}
	return service.WithAnnotations(digested(service))
}

// wantedClaim returns the claim of a member.
func (c *cluster) wantedClaim(name string) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	storage := c.object.Spec.Storage
	claim := corev1ac.PersistentVolumeClaim(name, c.object.Namespace).
		WithLabels(labelsOf(c.object.Name)).WithLabels(map[string]string{labelMember: name, labelOf: string(c.object.UID)}).
		WithSpec(corev1ac.PersistentVolumeClaimSpec().WithAccessModes(corev1.ReadWriteOnce).
			WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: storage.Size})))
	if storage.StorageClassName != nil {
		claim.Spec.WithStorageClassName(*storage.StorageClassName)
	}
	if storage.WhenDeleted == v1.Delete {
		claim.WithOwnerReferences(c.owner())
	}
	return claim.WithAnnotations(digested(claim))
}

// volumePath is where a member's claim is mounted.
const volumePath = "/var/lib/postgresql"

// userID is that of PostgreSQL in the image.
const userID = 999

// wantedPod returns the pod of a member, which starts as a standby. It is never restarted in place:
// what it is to do when it starts again is for the operator to say.
func (c *cluster) wantedPod(name string, verb member.Verb) *corev1ac.PodApplyConfiguration {
	env := []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName(member.EnvName).WithValue(name),
		corev1ac.EnvVar().WithName(member.EnvVolume).WithValue(volumePath),
		corev1ac.EnvVar().WithName(member.EnvAddress).WithValue("0.0.0.0"),
	}
	switch verb {
	case member.Join:
		env = append(env,
			corev1ac.EnvVar().WithName(member.EnvPrimary).WithValue(c.address(c.record.Primary)),
			corev1ac.EnvVar().WithName(member.EnvPromotion).WithValue(strconv.FormatInt(c.record.Promotion.Number, 10)),
			corev1ac.EnvVar().WithName(member.EnvPromotedFrom).WithValue(strconv.FormatInt(c.record.Promotion.From, 10)))
	case member.Seed, member.Run, member.Backup: // nothing more
	case member.Restore:
		env = append(env, corev1ac.EnvVar().WithName(member.EnvBackups).WithValue(backupsPath))
	}
	spec := c.memberPod(verb, env...).WithTerminationGracePeriodSeconds(60).WithNodeSelector(c.object.Spec.NodeSelector)
	c.mount(spec, "data", name, volumePath)
	if verb == member.Restore {
		c.mount(spec, "backups", c.object.Spec.Backup.ClaimName, backupsPath)
	}
	spec.Containers[0].
		WithPorts(corev1ac.ContainerPort().WithName("postgres").WithContainerPort(member.Port).WithProtocol(corev1.ProtocolTCP)).
		WithReadinessProbe(corev1ac.Probe().WithPeriodSeconds(2).
			WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString("postgres"))))
	if c.object.Spec.AntiAffinity {
		spec.WithAffinity(corev1ac.Affinity().WithPodAntiAffinity(corev1ac.PodAntiAffinity().
			WithRequiredDuringSchedulingIgnoredDuringExecution(corev1ac.PodAffinityTerm().WithTopologyKey(corev1.LabelHostname).
				WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(c.object.Name))))))
	}
	return corev1ac.Pod(name, c.object.Namespace).WithOwnerReferences(c.owner()).
		WithLabels(labelsOf(c.object.Name)).WithLabels(map[string]string{labelMember: name, labelRole: roleReplica}).
		WithAnnotations(map[string]string{annotationTemplate: c.template()}).WithSpec(spec)
}

// annotationStatement has the digest of what this operator stated of an object.
const annotationStatement = "lukeb0nd.com/statement"

func digested(stated any) map[string]string {
	return map[string]string{annotationStatement: apply.Digest(stated)}
}

// annotationTemplate has the template that a member's pod was made from.
const annotationTemplate = "lukeb0nd.com/template"

// template identifies what the spec says of the members' pods. It is compared, not the pod:
// admission may have changed that, such as the registry of its image.
func (c *cluster) template() string {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%s %t %v", c.image, c.object.Spec.AntiAffinity, c.object.Spec.NodeSelector) // fmt sorts maps
	return fmt.Sprintf("%x", sum.Sum64())
}

// backupsPath is where the claim of the backups is mounted.
const backupsPath = "/var/lib/postgresql-backups"

// majorVersion is that of PostgreSQL in the image.
const majorVersion = "15"

// memberPod returns the spec of a pod that runs the program member.
func (c *cluster) memberPod(verb member.Verb, env ...*corev1ac.EnvVarApplyConfiguration) *corev1ac.PodSpecApplyConfiguration {
	return corev1ac.PodSpec().
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithAutomountServiceAccountToken(false).
		WithSecurityContext(corev1ac.PodSecurityContext().WithRunAsNonRoot(true).WithRunAsUser(userID).WithRunAsGroup(userID).WithFSGroup(userID).
			// Not each time, file by file.
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(corev1ac.Container().WithName("postgres").WithImage(c.image).WithCommand("/member").WithArgs(string(verb)).
			WithEnv(
				corev1ac.EnvVar().WithName(member.EnvPassword).WithValueFrom(corev1ac.EnvVarSource().
					WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(secretName(c.object.Name)).WithKey(passwordKey))),
				corev1ac.EnvVar().WithName(member.EnvBinaries).WithValue("/usr/lib/postgresql/"+majorVersion+"/bin"),
				corev1ac.EnvVar().WithName(member.EnvSystemIdentifier).WithValue(c.record.SystemIdentifier)).
			WithEnv(env...).
			WithSecurityContext(corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false).
				WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))))
}

// mount gives the container of a memberPod a claim.
func (c *cluster) mount(pod *corev1ac.PodSpecApplyConfiguration, name, claim, path string) {
	pod.WithVolumes(corev1ac.Volume().WithName(name).
		WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(claim)))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(name).WithMountPath(path))
}

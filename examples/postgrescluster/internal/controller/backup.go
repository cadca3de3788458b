package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// backupsPath is where the claim of the backups is mounted.
const backupsPath = "/var/lib/postgresql-backups"

func backupName(cluster string) string { return cluster + "-backup" }

// ensureBackups sees to it that base backups are made, if they are wanted.
func (r *Reconciler) ensureBackups(ctx context.Context, c *cluster) *statemachine.Outcome {
	switch {
	case c.backedUp():
		return nil
	case c.cronJob != nil && !c.owns(c.cronJob):
		return c.nameTaken(c.cronJob)
	case c.object.Spec.Backup == nil:
		return r.remove(ctx, c.cronJob)
	}
	wanted := c.wantedCronJob()
	if c.cronJob != nil {
		wanted.WithUID(c.cronJob.UID)
	}
	return r.applyObject(ctx, owner, c.object.Namespace+"/"+backupName(c.object.Name), "CronJob", wanted)
}

// backedUp reports whether the CronJob is as it is wanted. Where none is, somebody else may have
// one of its name.
func (c *cluster) backedUp() bool {
	if c.object.Spec.Backup == nil {
		return c.cronJob == nil || !c.owns(c.cronJob)
	}
	if c.cronJob == nil {
		return false
	}
	owned, err := batchv1ac.ExtractCronJob(c.cronJob, string(owner))
	return err == nil && apply.Stands(owned, c.wantedCronJob())
}

// wantedCronJob makes a base backup of the member that is the primary.
func (c *cluster) wantedCronJob() *batchv1ac.CronJobApplyConfiguration {
	pod := c.memberPod(member.Backup,
		corev1ac.EnvVar().WithName(member.EnvPrimary).WithValue(c.address(c.record.Primary)),
		corev1ac.EnvVar().WithName(member.EnvBackups).WithValue(backupsPath))
	c.mount(pod, "backups", c.object.Spec.Backup.ClaimName, backupsPath)
	labels := map[string]string{"app.kubernetes.io/name": "postgrescluster-backup", "app.kubernetes.io/instance": c.object.Name}
	job := batchv1ac.CronJob(backupName(c.object.Name), c.object.Namespace).WithLabels(labelsOf(c.object.Name)).WithOwnerReferences(c.owner()).
		WithSpec(batchv1ac.CronJobSpec().WithSchedule(c.object.Spec.Backup.Schedule).WithTimeZone("Etc/UTC").
			WithConcurrencyPolicy(batchv1.ForbidConcurrent).WithStartingDeadlineSeconds(600).
			WithJobTemplate(batchv1ac.JobTemplateSpec().WithSpec(batchv1ac.JobSpec().WithBackoffLimit(2).
				WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(pod)))))
	return job.WithAnnotations(digested(job))
}

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

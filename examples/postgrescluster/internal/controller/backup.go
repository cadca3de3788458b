package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// ensureBackups sees to it that base backups are made, if they are wanted.
func (r *Reconciler) ensureBackups(ctx context.Context, c *cluster) *statemachine.Outcome {
	switch {
	case c.backedUp():
		return nil
	case c.object.Spec.Backup == nil:
		return r.remove(ctx, c.cronJob)
	}
	return ensureOwned(ctx, r, c, c.cronJob, c.wantedCronJob())
}

// backedUp reports whether the CronJob is as it is wanted. Where none is, somebody else may have
// one of its name.
func (c *cluster) backedUp() bool {
	if c.object.Spec.Backup == nil {
		return c.cronJob == nil || !c.owns(c.cronJob)
	}
	return c.cronJob != nil && stands(c.cronJob, batchv1ac.ExtractCronJob, c.wantedCronJob())
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

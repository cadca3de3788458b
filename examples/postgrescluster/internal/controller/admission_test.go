package controller

import (
	"context"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// What admission makes of the CronJob is not restored for ever, and a change of the spec
// reaches it all the same.
func TestAdmissionChangesCronJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(c *v1.PostgresCluster) { c.Spec.Backup = &v1.Backup{ClaimName: "backups", Schedule: "@daily"} })
	w.mirrorsImages()
	w.completes(1)
	w.idles(5, "while nothing differs")
	w.get().Spec.Backup.Schedule = "@weekly"
	w.must(admin.Update(t.Context(), w.object))
	w.completes(1)
	job := &batchv1.CronJob{}
	w.load("db-backup", job)
	if image := job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image; job.Spec.Schedule != "@weekly" || image != "mirror.example/member:1" {
		t.Errorf("the schedule is %s, and the image %s", job.Spec.Schedule, image)
	}
}

// mirrorsImages has admission give CronJobs another image.
func (w *world) mirrorsImages() {
	w.t.Helper()
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.object.Namespace},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: metav1.AddLabelToSelector(&metav1.LabelSelector{}, corev1.LabelMetadataName, w.object.Namespace),
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"cronjobs"}},
				}}},
			},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
				Expression: `Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{spec: Object.spec.jobTemplate.spec{template: Object.spec.jobTemplate.spec.template{
					spec: Object.spec.jobTemplate.spec.template.spec{containers: [
						Object.spec.jobTemplate.spec.template.spec.containers{name: "postgres", image: "mirror.example/member:1"}]}}}}}}`,
			}}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	w.must(admin.Create(w.t.Context(), policy))
	w.must(admin.Create(w.t.Context(), binding))
	w.must(wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "any"}}
		job.Spec.Schedule = "@daily"
		job.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "postgres", Image: "any"}}}
		err := admin.Create(ctx, job, client.DryRunAll)
		return job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image == "mirror.example/member:1", err
	}))
}

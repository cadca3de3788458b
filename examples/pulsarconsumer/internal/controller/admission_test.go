package controller

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mutates has admission change the Deployments of the namespace, until the test ends.
func (w *world) mutates(expression string) {
	w.t.Helper()
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.object.Namespace},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: metav1.AddLabelToSelector(&metav1.LabelSelector{}, corev1.LabelMetadataName, w.object.Namespace),
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				}}},
			},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: expression},
			}},
		},
	}
	w.must(admin.Create(w.t.Context(), policy))
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	w.must(admin.Create(w.t.Context(), binding))
	w.t.Cleanup(func() {
		w.must(admin.Delete(context.Background(), binding))
		w.must(admin.Delete(context.Background(), policy))
	})
	eventually(w.t, func(ctx context.Context) (bool, error) {
		d := w.foreignDeployment()
		d.Spec.Template.Spec.Containers[0].Name = "pulsarconsumer"
		err := admin.Create(ctx, d, client.DryRunAll)
		return d.Spec.Template.Spec.Containers[0].Image != "other" || len(d.Spec.Template.Spec.Containers) > 1, err
	})
}

// What admission makes of the Deployment is not restored for ever.
func TestAdmissionChangesDeployment(t *testing.T) {
	t.Parallel()
	for name, expression := range map[string]string{
		"another registry": `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [
			Object.spec.template.spec.containers{name: "pulsarconsumer", image: "mirror.example/consumer:1"}]}}}}`,
		"a sidecar": `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [
			Object.spec.template.spec.containers{name: "sidecar", image: "sidecar.example/proxy:1"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mutates(expression)
			w.consumes()
			w.is("Consuming", "")
		})
	}
}

package integration

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// awaitPolicies waits until all validating policies that exist are effective. The API server replaces
// its policies as a whole, by those that its informers have, about once a second (k8s.io/apiserver
// pkg/admission/plugin/policy/generic/policy_source.go): when one that is created now is effective,
// all before it are.
func (c *cluster) awaitPolicies() {
	c.t.Helper()
	name := "last-" + rand.String(8)
	last := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			MatchConditions: []admissionv1.MatchCondition{{Name: "name", Expression: "object.metadata.name == '" + name + "'"}},
			Validations:     []admissionv1.Validation{{Expression: "false", Reason: new(metav1.StatusReasonForbidden)}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{last, binding} {
		create(c.t, object)
		defer func() { _ = admin.Delete(context.WithoutCancel(c.t.Context()), object) }()
	}
	eventually(c.t, func() bool {
		return denied(admin.Create(c.t.Context(), &corev1.ConfigMap{ObjectMeta: c.named(name)}, client.DryRunAll), name)
	})
}

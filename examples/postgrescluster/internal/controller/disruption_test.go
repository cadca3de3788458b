package controller

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// Evictions take one member at a time, whatever somebody changes of the PodDisruptionBudget; that
// of somebody else is left as it is, and said of.
func TestDisruptionBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "db"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "another"}}},
	}
	w.must(admin.Create(t.Context(), budget))
	w.is("Planned", ReasonNameTaken)
	if message := w.object.Status.Message; !strings.Contains(message, "PodDisruptionBudget db") {
		t.Errorf("it says %q", message)
	}
	w.must(admin.Delete(t.Context(), budget))
	w.completes(1)
	asWanted := func() bool {
		w.must(client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(budget), budget)))
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		w.must(err)
		return budget.Spec.MaxUnavailable.IntValue() == 1 && selector.Matches(labels.Merge(labelsOf("db"), labels.Set{labelMember: "db-0"}))
	}
	if !asWanted() {
		t.Errorf("the PodDisruptionBudget is %+v", budget.Spec)
	}
	budget.Spec.MaxUnavailable = new(intstr.FromInt32(3))
	w.must(admin.Update(t.Context(), budget, client.FieldOwner("somebody")))
	w.until("the budget as it was", func(*v1.PostgresClusterStatus) bool { return asWanted() })
}

package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A tenant with as many exporters as the quota of config/tenants admits gets no more, and reads
// which quota refuses the next one. What exists is changed nevertheless, and other namespaces are not
// counted.
func TestQuotaOfTenant(t *testing.T) {
	t.Parallel()
	const counted = "count/prometheusjmxexporters.banzaicloud.com"
	n, other := newTenancy(t), newTenancy(t)
	quota := n.limited()
	limit := quota.Spec.Hard[counted]
	var refused error
	for i := 1; refused == nil && i <= 2*int(limit.Value()); i++ { // the API server may see the quota a moment later
		refused = n.alice.Create(t.Context(), n.anExporter(fmt.Sprintf("exporter-%d", i)))
	}
	want := fmt.Sprintf("exceeded quota: %s, requested: %s=1, used: %[2]s=%[3]s, limited: %[2]s=%[3]s", quota.Name, counted, limit.String())
	if !apierrors.IsForbidden(refused) || !strings.Contains(refused.Error(), want) {
		t.Errorf("beyond the quota: got %v, want Forbidden that says %q", refused, want)
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if n.list(&exporters); len(exporters.Items) < int(limit.Value()) {
		t.Errorf("exporters of the namespace: got %d, want the %s of the quota", len(exporters.Items), limit.String())
	}
	n.must(n.alice.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)))
	n.must(other.alice.Create(t.Context(), other.anExporter("another")))
}

// limited creates the quota of config/tenants in the namespace. Its status is what
// kube-controller-manager would write, which does not run; the API server counts by itself what is
// created from then on.
func (n *tenancy) limited() *corev1.ResourceQuota {
	n.t.Helper()
	quota := &corev1.ResourceQuota{}
	n.must(runtime.DefaultUnstructuredConverter.FromUnstructured(built(n.t, "config/tenants/quota")[0].Object, quota))
	quota.Namespace = n.namespace
	create(n.t, quota)
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{}
	for name := range quota.Spec.Hard {
		quota.Status.Used[name] = resource.MustParse("1") // alice's exporter
	}
	n.must(admin.Status().Update(n.t.Context(), quota))
	return quota
}

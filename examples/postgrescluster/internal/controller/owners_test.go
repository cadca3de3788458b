package controller

import (
	"maps"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// Each concern has a field owner of its own, and what others own stays theirs.
func TestFieldOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, func(c *v1.PostgresCluster) { c.Spec.Backup = &v1.Backup{ClaimName: "backups", Schedule: "@daily"} })
	w.completes(2)
	service := &corev1.Service{}
	w.load("db-rw", service)
	service.Annotations = map[string]string{"example.com/owner": "somebody"}
	service.Spec.Ports[0].TargetPort = intstr.FromInt32(15432)
	w.must(admin.Update(t.Context(), service, client.FieldOwner("somebody")))
	w.until("the Service as it was", func(*v1.PostgresClusterStatus) bool {
		w.must(admin.Get(t.Context(), client.ObjectKeyFromObject(service), service))
		return service.Spec.Ports[0].TargetPort.StrVal == "postgres"
	})
	w.completes(2)
	if service.Annotations["example.com/owner"] != "somebody" {
		t.Errorf("the Service has the annotations %v", service.Annotations)
	}

	const operator, role, record, status = "postgrescluster-operator", "postgrescluster-operator/role", "postgrescluster-operator/record", "postgrescluster-operator/status"
	for name, test := range map[string]struct {
		object client.Object
		owners []string
	}{
		"db":             {&v1.PostgresCluster{}, []string{status}},
		"db-rw":          {service, []string{operator}},
		"db-credentials": {&corev1.Secret{}, []string{operator}},
		"db-backup":      {&batchv1.CronJob{}, []string{operator}},
		"db-0":           {&corev1.Pod{}, []string{operator, role}},
		"db-1":           {&corev1.PersistentVolumeClaim{}, []string{operator, record}},
	} {
		w.load(name, test.object)
		owners := map[string]bool{}
		for _, entry := range test.object.GetManagedFields() {
			if !strings.HasPrefix(entry.Manager, operator) {
				continue
			}
			owners[entry.Manager] = true
			fields := entry.FieldsV1.GetRawString()
			if entry.Operation != metav1.ManagedFieldsOperationApply || (entry.Manager == status) != (entry.Subresource == "status") {
				t.Errorf("%s: %s owns by %s of %q", name, entry.Manager, entry.Operation, entry.Subresource)
			}
			if entry.Manager == role && fields != `{"f:metadata":{"f:labels":{"f:lukeb0nd.com/role":{}}}}` {
				t.Errorf("%s: %s owns %s", name, role, fields)
			}
		}
		if got := slices.Sorted(maps.Keys(owners)); !slices.Equal(got, test.owners) {
			t.Errorf("%s: the owners are %v, want %v", name, got, test.owners)
		}
	}
}

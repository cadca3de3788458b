package controller

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// The API server refuses what cannot be.
func TestValidation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(spec *v1.PostgresClusterSpec)
		field  string
	}{
		"no member":              {func(s *v1.PostgresClusterSpec) { s.Size = -1 }, "spec.size"},
		"too many members":       {func(s *v1.PostgresClusterSpec) { s.Size = 8 }, "spec.size"},
		"another major version":  {func(s *v1.PostgresClusterSpec) { s.Version = "16" }, "spec.version"},
		"no version":             {func(s *v1.PostgresClusterSpec) { s.Version = "latest" }, "spec.version"},
		"less storage":           {func(s *v1.PostgresClusterSpec) { s.Storage.Size = resource.MustParse("1Mi") }, "spec.storage.size"},
		"another storage class":  {func(s *v1.PostgresClusterSpec) { s.Storage.StorageClassName = new("fast") }, "spec.storage.storageClassName"},
		"no time for a failover": {func(s *v1.PostgresClusterSpec) { s.FailoverDelay = &metav1.Duration{} }, "spec.failoverDelay"},
		"a schedule of one field": {func(s *v1.PostgresClusterSpec) {
			s.Backup = &v1.Backup{ClaimName: "backups", Schedule: "daily"}
		}, "spec.backup.schedule"},
		"an unknown whenDeleted": {func(s *v1.PostgresClusterSpec) { s.Storage.WhenDeleted = "Keep" }, "spec.storage.whenDeleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			test.change(&w.get().Spec)
			if err := admin.Update(t.Context(), w.object); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.field) {
				t.Errorf("the API server says %v, and is to name %s", err, test.field)
			}
		})
	}
}

// Services, a CronJob and replication slots are named after it, each with a limit of its own.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		strings.Repeat("a", 40): true, "orders-7": true,
		strings.Repeat("a", 41): false, "orders.eu": false, "7-orders": false,
	} {
		object := &v1.PostgresCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
			Spec:       v1.PostgresClusterSpec{Version: "15", Backup: &v1.Backup{ClaimName: "backups", Schedule: "@daily"}},
		}
		if err := admin.Create(t.Context(), object, client.DryRunAll); (err == nil) != valid || err != nil && !apierrors.IsInvalid(err) {
			t.Errorf("of the name %s the API server says %v", name, err)
		}
	}
}

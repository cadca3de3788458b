package controller

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// The operator as it runs, with the rights of its ClusterRole and no others: events and
// time lead a PostgresCluster to its last phase, and there again when a member is lost.
func TestManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.kubelet.now = clock.RealClock{}.Now
	image := "registry.example/member:1"
	mgr, err := operator.NewManager(operatorUser(t), Operator(&image), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		// The other tests' clusters are theirs.
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.object.Namespace: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	comesTo := func(members string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			return w.object.Status.Members == members && (w.object.Status.Phase == "Complete") == (members == "2/2"), admin.Get(ctx, w.key(), w.object)
		})
		if err != nil {
			t.Fatalf("it has %s members and is %s because of %s: %s", w.object.Status.Members, w.object.Status.Phase, w.object.Status.Reason, w.object.Status.Message)
		}
	}
	comesTo("2/2")
	w.kubelet.kill("db-1", true)
	comesTo("1/2")
	w.kubelet.release("db-1")
	comesTo("2/2")
}

// operatorUser is a user who has the ClusterRole that is generated from the code.
func operatorUser(t *testing.T) *rest.Config {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "role.yaml"))
	role := &rbacv1.ClusterRole{}
	if err == nil {
		err = yaml.Unmarshal(data, role)
	}
	if err == nil {
		err = admin.Create(t.Context(), role)
	}
	if err == nil {
		err = admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "operator"}},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	user, err := environment.AddUser(envtest.User{Name: "operator"}, &rest.Config{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return user.Config()
}

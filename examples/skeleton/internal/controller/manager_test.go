package controller

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// The operator as it runs, with the rights of its ClusterRole and no others: events alone
// lead a Skeleton to its last phase.
func TestManager(t *testing.T) {
	mgr, err := operator.NewManager(rights(t), Operator, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
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
	w := newWorld(t)
	comesTo := func(phase string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return string(w.object.Status.Phase) == phase, admin.Get(ctx, w.key(), w.object)
		})
		if err != nil {
			t.Fatalf("it is %s, not %s: %v", w.object.Status.Phase, phase, err)
		}
	}
	comesTo("Deployed")
	w.available(2)
	comesTo("RolledOut")
	w.must(admin.Delete(t.Context(), w.deployment()))
	comesTo("Deployed")

	// What a person does about a refusal is an event.
	foreign := w.foreignDeployment()
	w.object.Name, foreign.Name = "other", strings.Replace(foreign.Name, "sample", "other", 1)
	w.object.ResourceVersion, w.object.UID = "", ""
	w.must(admin.Create(t.Context(), foreign))
	w.must(admin.Create(t.Context(), w.object))
	eventually(t, func(ctx context.Context) (bool, error) {
		return w.object.Status.Reason == operator.ReasonNameTaken, admin.Get(ctx, w.key(), w.object)
	})
	w.must(admin.Delete(t.Context(), foreign))
	comesTo("Deployed")
}

// eventually waits until something is so.
func eventually(t *testing.T, is wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, is); err != nil {
		t.Fatal(err)
	}
}

// rights are those of a user who has the ClusterRole that is generated from the code.
func rights(t *testing.T) *rest.Config {
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

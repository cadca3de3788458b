package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Users with Kubernetes' default roles see the operator's kinds, and those who may edit
// write exporters, also past the policy on who may; nobody of them writes what the operator
// writes. The roles are those of the API server, aggregated by Kubernetes' controller.
func TestDefaultRoles(t *testing.T) {
	c := newCluster(t)
	aggregates(t)
	users := map[string]client.Client{}
	for _, role := range []string{"view", "edit", "admin"} {
		create(t, &rbacv1.RoleBinding{
			ObjectMeta: c.named(role), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: c.user(role)}},
		})
		users[role] = as(t, c.user(role))
	}
	reads := func(user client.Client) error {
		return user.List(t.Context(), &v1alpha1.JmxAttachmentList{}, client.InNamespace(c.namespace))
	}
	for name, user := range users {
		if err := reads(user); !apierrors.IsForbidden(err) {
			t.Fatalf("without config/users, a user with role %s reads JmxAttachments: got %v, so this test proves nothing", name, err)
		}
	}
	for _, role := range built(t, "config/users") {
		create[client.Object](t, role)
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), role) })
	}
	exporter := c.export("exporter")
	record := &v1alpha1.JmxAttachment{ObjectMeta: c.named("record")}
	record.Spec.Pod.Name, record.Spec.Pod.UID, record.Spec.Exporter.Name, record.Spec.Exporter.UID = "app-0", "uid", exporter.Name, exporter.UID
	create(t, record)
	c.enforce("config/policies")

	for name, user := range users {
		edits := name != "view"
		// The controller and the API server's cache of roles take a moment.
		eventually(t, func() bool {
			return user.List(t.Context(), &v1alpha1.JmxAttachmentList{}, client.InNamespace(c.namespace)) == nil
		})
		eventually(t, func() bool {
			return !edits || user.Create(t.Context(), c.anExporter("another"), client.DryRunAll) == nil
		})
		for what, request := range map[string]struct {
			err     error
			allowed bool
		}{
			"list exporters":    {user.List(t.Context(), &v1alpha1.PrometheusJmxExporterList{}, client.InNamespace(c.namespace)), true},
			"get an exporter":   {user.Get(t.Context(), client.ObjectKeyFromObject(exporter), exporter.DeepCopy()), true},
			"create exporters":  {user.Create(t.Context(), c.anExporter("another"), client.DryRunAll), edits},
			"patch exporters":   {user.Patch(t.Context(), exporter.DeepCopy(), patch(`{"spec":{"suspend":true}}`), client.DryRunAll), edits},
			"delete exporters":  {user.Delete(t.Context(), exporter.DeepCopy(), client.DryRunAll), edits},
			"create records":    {user.Create(t.Context(), record.DeepCopy(), client.DryRunAll), false},
			"delete records":    {user.Delete(t.Context(), record.DeepCopy(), client.DryRunAll), edits},
			"patch the status":  {user.Status().Patch(t.Context(), exporter.DeepCopy(), patch(`{"status":{"pods":"9/9"}}`)), false},
			"list revisions":    {user.List(t.Context(), &appsv1.ControllerRevisionList{}, client.InNamespace(c.namespace)), true},
			"list ConfigMaps":   {user.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(c.namespace)), true},
			"create revisions":  {user.Create(t.Context(), &appsv1.ControllerRevision{ObjectMeta: c.named("mine")}, client.DryRunAll), false},
			"read other spaces": {user.List(t.Context(), &v1alpha1.PrometheusJmxExporterList{}, client.InNamespace(metav1.NamespaceDefault)), false},
		} {
			if allowed := request.err == nil; allowed != request.allowed || !allowed && !apierrors.IsForbidden(request.err) {
				t.Errorf("%s by a user with role %s: got %v, allowed is to be %t", what, name, request.err, request.allowed)
			}
		}
	}
}

// aggregates runs the controller of Kubernetes that aggregates roles.
func aggregates(t *testing.T) {
	t.Helper()
	binaries := exec.CommandContext(t.Context(), filepath.Join("..", "..", "hack", "binaries"), "kube-controller-manager")
	binaries.Stderr = os.Stderr
	path, err := binaries.Output()
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("there is no kube-controller-manager: %v", err)
		}
		t.Fatal(err)
	}
	certificates.Lock()
	user, err := environment.AddUser(envtest.User{Name: "kube-controller-manager", Groups: []string{"system:masters"}}, config)
	certificates.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)),
		"--kubeconfig="+file, "--controllers=clusterrole-aggregation-controller", "--leader-elect=false", "--secure-port=0")
	command.Stdout, command.Stderr = logs(), logs()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() }) // it is killed with the test's context
}

package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
)

// scriptedLogs stand in for a kubelet's logs.
type scriptedLogs func(pod types.NamespacedName, previous bool) (string, error)

// Tail implements podlog.Logs.
func (l scriptedLogs) Tail(_ context.Context, pod types.NamespacedName, _ string, _ int32, previous bool) (string, error) {
	return l(pod, previous)
}

// Logs are read once for each restart.
func TestProblemLogs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	var reads atomic.Int32
	o.tell(scriptedLogs(func(pod types.NamespacedName, previous bool) (string, error) {
		return fmt.Sprintf("scripted log of %s, previous: %t, read number %d\n", pod.Name, previous, reads.Add(1)), nil
	}))
	e := c.alerts("exporter", 10)
	pod := c.run(aPod("app-0").without("app"))
	c.crash(pod, 1)
	logs := func() []string {
		t.Helper()
		o.settle()
		get(t, e)
		return []string{e.Status.ProblemPods[0].Log, e.Status.ProblemPods[0].PreviousLog}
	}
	first := []string{"scripted log of app-0, previous: false, read number 1", "scripted log of app-0, previous: true, read number 2"}
	if diff := cmp.Diff(first, logs()); diff != "" {
		t.Errorf("logs in the status (-want +got):\n%s", diff)
	}
	if events := o.events.with("CrashLoopBackOff"); len(events) != 2 || !strings.HasSuffix(events[1].Note, "the end of its log:\n"+first[1]) {
		t.Errorf("Events: got %+v, want one for the problem, and one with the log of the failed instance", events)
	}
	o.did()
	if diff := cmp.Diff(first, logs()); diff != "" || o.count() > 0 {
		t.Errorf("without a restart: effects %q, logs (-want +got):\n%s", o.did(), diff)
	}
	c.runAgain(pod, 2)
	second := []string{"scripted log of app-0, previous: false, read number 3", "scripted log of app-0, previous: true, read number 4"}
	if diff := cmp.Diff(second, logs()); diff != "" {
		t.Errorf("logs after a restart (-want +got):\n%s", diff)
	}
	change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Alerts.LogLines = 0 })
	if diff := cmp.Diff([]string{"", ""}, logs()); diff != "" {
		t.Errorf("logs with logLines 0 (-want +got):\n%s", diff)
	}
}

// The operator cannot read logs with the rights of config/rbac, and reports that once; with
// config/logs it can. Both roles are evaluated by the API server.
func TestLogsForbidden(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	name := "operator-of-" + c.namespace
	user := addUser(t, name, serviceAccounts)
	c.grant(name, "../../config/rbac/role.yaml")
	o := c.operate()
	o.tell(podlog.NewPodLogs(clientsetOf(t, user).CoreV1(), o.seam))
	e := c.alerts("exporter", 10)
	pod := c.run(aPod("app-0").without("app"))
	c.crash(pod, 1)

	again := o.settle()
	if p := c.problems(e); len(p) != 1 || !strings.Contains(p[0], "pods/log") || !strings.Contains(p[0], crashed) {
		t.Fatalf("problems: got %q, want one that names pods/log and the exit code", p)
	}
	if again <= 0 || again > 10*time.Minute {
		t.Errorf("next try: got %s, want at most 10m", again)
	}
	o.did()
	if o.settle(); o.count() > 0 {
		t.Errorf("effects without a change: got %q, want none", o.did())
	}
	c.crash(pod, 2)
	o.settle()
	if p := c.problems(e); strings.Count(p[0], "pods/log") != 1 || len(o.events.with("CrashLoopBackOff")) != 1 {
		t.Errorf("problems after a restart: got %q, want pods/log named once", p)
	}

	c.grant(name, "../../config/logs/role.yaml")
	eventually(t, func() bool {
		c.later(10 * time.Minute)
		o.settle()
		return !strings.Contains(c.problems(e)[0], "pods/log")
	})
	o.did()
	if o.settle(); o.count() > 0 {
		t.Errorf("effects without a change after the right is granted: got %q, want none", o.did())
	}
}

// grant binds the rules of a ClusterRole in the repository to a user in the
// namespace.
func (c *cluster) grant(user, file string) {
	c.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		c.t.Fatal(err)
	}
	create(c.t, &rbacv1.Role{ObjectMeta: c.named(role.Name), Rules: role.Rules})
	create(c.t, &rbacv1.RoleBinding{
		ObjectMeta: c.named(role.Name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

func clientsetOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clientset
}

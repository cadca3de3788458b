package integration

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// kustomizations returns those that docs/security.md shows for some namespaces, by their
// folders, with the namespaces of the test in them.
func kustomizations(t *testing.T, namespaces *strings.Replacer) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Some namespaces\n")
	_, section, _ = strings.Cut(section, "```yaml\n")
	section, _, _ = strings.Cut(section, "```")
	shown := map[string]string{}
	for text := range strings.SplitSeq(section, "---\n") {
		name := regexp.MustCompile(`^# (?:(\w+)/)?kustomization`).FindStringSubmatch(text)
		if name == nil {
			t.Fatalf("the kustomization names no folder:\n%s", text)
		}
		shown[name[1]] = namespaces.Replace(strings.ReplaceAll(text, "github.com/banzaicloud/jmx-exporter-operator/config", "CONFIG"))
	}
	return shown
}

// The operator for some namespaces, as docs/security.md shows it: it works in each with
// the rights of its Role only, and in no other; its JmxAttachments are protected in each.
func TestSomeNamespaces(t *testing.T) {
	ops, shop, elsewhere := newCluster(t), newCluster(t), newCluster(t)
	shop.containers, elsewhere.containers = ops.containers, ops.containers
	shown := kustomizations(t, strings.NewReplacer("ops", ops.namespace, "shop", shop.namespace, ",bank", "", ", bank", ""))
	c := &contained{cluster: ops}
	var flags string
	for _, object := range append(ops.kustomize(shown["ops"]), shop.kustomize(shown["shop"])...) {
		switch object.GetObjectKind().GroupVersionKind().Kind {
		case "ClusterRole", "ClusterRoleBinding":
			if !slices.Contains([]string{"jmx-exporter-view", "jmx-exporter-edit", "jmx-exporter-crds"}, object.GetName()) { // config/users
				t.Errorf("%s is cluster-scoped", object.GetName())
			}
		case "Role", "RoleBinding":
			create(t, object)
		case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			if strings.HasSuffix(object.GetName(), "."+ops.namespace) {
				c.policies = append(c.policies, object)
			}
		case "Deployment":
			flags = fmt.Sprint(object)
		}
	}
	if want := "--namespace=" + shop.namespace + "]"; !strings.Contains(flags, want) {
		t.Errorf("the Deployment lacks %s", want)
	}
	as := c.as("system:serviceaccount:"+ops.namespace+":jmx-exporter-operator", serviceAccounts)
	ops.startManagerIn(as, ops.containers.Prober(effects.Direct), ops.namespace, shop.namespace)

	pods := map[*cluster]*corev1.Pod{}
	for _, c := range []*cluster{elsewhere, ops, shop} {
		pods[c] = c.run(aPod("app-0"))
		c.export("exporter")
	}
	eventually(t, func() bool {
		for _, c := range []*cluster{ops, shop} {
			if a := c.attachment(pods[c]); a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
				return false
			}
		}
		return true
	})
	if a := elsewhere.attachment(pods[elsewhere]); a != nil {
		t.Errorf("JmxAttachment in another namespace, with phase %s", phaseOf(a))
	}
	operator, err := newClient(as)
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.List(t.Context(), &corev1.PodList{}, client.InNamespace(elsewhere.namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("list of pods in another namespace: got %v, want Forbidden", err)
	}

	forged := func(c *cluster) error {
		a := &v1alpha1.JmxAttachment{ObjectMeta: c.named("forged")}
		a.Spec.Pod.Name, a.Spec.Pod.UID = "app-0", pods[c].UID
		a.Spec.Exporter.Name, a.Spec.Exporter.UID = "exporter", "uid"
		return admin.Create(context.WithoutCancel(t.Context()), a, client.DryRunAll)
	}
	c.enforce(func() bool { return deniedByAny(forged(ops)) && deniedByAny(forged(shop)) })
	if err := forged(elsewhere); err != nil {
		t.Errorf("write of JmxAttachments by another installation in its namespace: got %v, want admission", err)
	}
}

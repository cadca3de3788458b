package integration

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/policies"
)

// may reports whether the API server gives the operator's account a right, in a namespace or,
// if that is empty, in all.
func (c *contained) may(verb, group, resource, subresource, namespace string) bool {
	c.t.Helper()
	review := create(c.t, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: c.config.Impersonate.UserName, Groups: c.config.Impersonate.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace},
	}})
	if review.Status.EvaluationError != "" {
		c.t.Fatal(review.Status.EvaluationError)
	}
	return review.Status.Allowed
}

var everyVerb = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// With config/transport-node, the operator may execute in its own namespace alone, and add
// ephemeral containers nowhere; it cannot change its node agents, and they have no right.
func TestRightsOfTransportNode(t *testing.T) {
	c := contain(t, "transport-node")
	eventually(t, func() bool {
		return c.may("create", "", "pods", "exec", c.namespace) && c.may("list", "", "pods", "", "")
	})
	if !c.may("get", "", "pods", "exec", c.namespace) {
		t.Error("the operator has no right to execute over a WebSocket in its own namespace")
	}
	for _, verb := range everyVerb {
		for _, namespace := range []string{"default", "kube-system", ""} {
			for _, subresource := range []string{"exec", "ephemeralcontainers", "attach", "portforward", "proxy", "resize", "binding", "log"} {
				if c.may(verb, "", "pods", subresource, namespace) {
					t.Errorf("the operator may %s pods/%s in namespace %q", verb, subresource, namespace)
				}
			}
			for _, subresource := range []string{"", "proxy"} {
				if c.may(verb, "", "nodes", subresource, namespace) {
					t.Errorf("the operator may %s nodes/%s", verb, subresource)
				}
			}
		}
		for group, resources := range map[string][]string{"apps": {"daemonsets", "deployments"}, "": {"serviceaccounts", "secrets", "namespaces"}, rbacv1.GroupName: {"roles", "rolebindings"}} {
			for _, resource := range resources {
				if c.may(verb, group, resource, "", c.namespace) {
					t.Errorf("the operator may %s %s in its own namespace", verb, resource)
				}
			}
		}
		for _, subresource := range []string{"ephemeralcontainers", "attach", "portforward"} {
			if c.may(verb, "", "pods", subresource, c.namespace) {
				t.Errorf("the operator may %s pods/%s in its own namespace", verb, subresource)
			}
		}
	}
	if c.may("create", "", "serviceaccounts", "token", c.namespace) || c.may("create", "", "pods", "", c.namespace) {
		t.Error("the operator may create a token or a pod")
	}
	for _, object := range c.build("transport-node") {
		for _, subject := range subjectsOf(t, object) {
			if subject.Name == policies.NodeAgent {
				t.Errorf("%s gives node agents rights", object.GetName())
			}
		}
	}
}

func subjectsOf(t *testing.T, object client.Object) []rbacv1.Subject {
	t.Helper()
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "RoleBinding" && kind != "ClusterRoleBinding" {
		return nil
	}
	var binding rbacv1.ClusterRoleBinding
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, &binding); err != nil {
		t.Fatal(err)
	}
	return binding.Subjects
}

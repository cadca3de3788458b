package rights

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestJoin(t *testing.T) {
	granted := Granted([]rbacv1.PolicyRule{
		{Resources: []string{"pods", "secrets"}, Verbs: []string{"list", "watch"}},
		{Resources: []string{"pods/exec"}, Verbs: []string{"create", "get"}},
		{Resources: []string{"services", "tokenreviews"}, Verbs: []string{"create"}},
		{Resources: []string{"services"}, Verbs: []string{"patch"}},
	})
	calls := Calls{}
	calls.Add("watch", "pods", false)
	calls.Add("get", "pods/exec", false)
	calls.Add("patch", "services", true)
	calls.Add("delete", "pods", false)
	want := []string{
		"no call needs the right to list secrets",
		"no call needs the right to watch secrets",
		"no rule names the call delete pods",
	}
	if diff := cmp.Diff(want, Join(calls, granted, map[string]string{"create tokenreviews": "tested elsewhere"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package funcs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/test/rights"
)

// notUsed are rights that the features have no occasion to use.
var notUsed = map[string]string{
	"create endpointslices/restricted": "OpenShift asks for it where endpoints are addresses of pods",
	"get controllerrevisions":          "a container that restarts while the configuration is invalid: TestContainedOperator",
	"get jmxattachments":               "a pod whose record and exporter were deleted together: TestContainedOperator",
	"patch events":                     "an Event that repeats itself within six minutes, which depends on how quick the machine is",
}

// rightsUsed joins the audit log of the API server with the roles of the operator:
// each right is used, and each call is one that a rule names. Of a part of the features
// only the second can be said.
func (s *Suite) rightsUsed(ctx context.Context, c *cluster) error {
	calls, err := c.audited(ctx)
	if err != nil {
		return err
	}
	if calls == nil {
		fmt.Fprintln(os.Stderr, "the rights of the operator are not compared with its calls: the API server writes no audit log (kind-config.yaml)")
		return nil
	}
	granted, err := s.rightsOf(ctx, c)
	if err != nil {
		return err
	}
	unused := notUsed
	named := flag.Lookup("test.run").Value.String() != ""
	skipped := flag.Lookup("test.skip").Value.String() != "" && !s.LeavesOut
	if named || skipped {
		fmt.Fprintln(os.Stderr, "whether the operator needs each of its rights is not asked: these are not all features")
		unused = map[string]string{}
		for _, right := range granted {
			unused[right] = "a feature that was left out"
		}
	}
	var wrong []error
	for _, sentence := range rights.Join(calls, granted, unused) {
		wrong = append(wrong, errors.New("rights of the operator: "+sentence))
	}
	return errors.Join(wrong...)
}

// audited are the operator's calls since the cluster was made; nil where there is no
// audit log.
func (c *cluster) audited(ctx context.Context) (rights.Calls, error) {
	calls := rights.Calls{}
	found, err := c.audit(ctx, func(e auditEvent) {
		calls.Add(e.Verb, e.resource(), e.ResponseStatus.Code == http.StatusCreated)
	})
	if err != nil || !found {
		return nil, err
	}
	return calls, nil
}

// allServiceAccounts is the group of all service accounts (k8s.io/apiserver,
// pkg/authentication/serviceaccount).
const allServiceAccounts = "system:serviceaccounts"

// components are those that features add for a while, each with a role.
var components = []string{"config/logs", "config/endpoint-security"}

// rightsOf are the calls that the operator's roles name: those that are bound to its
// service account or to all, and those of the components.
func (s *Suite) rightsOf(ctx context.Context, c *cluster) ([]string, error) {
	var all rbacv1.ClusterRoleBindingList
	var one rbacv1.RoleBindingList
	if err := errors.Join(c.List(ctx, &all), c.List(ctx, &one, client.InNamespace(OperatorNamespace))); err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	add := func(subjects []rbacv1.Subject, ref rbacv1.RoleRef) error {
		for _, subject := range subjects {
			operator := subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == OperatorNamespace && subject.Name == operatorName
			if !operator && (subject.Kind != rbacv1.GroupKind || subject.Name != allServiceAccounts) {
				continue
			}
			var role rbacv1.ClusterRole
			if ref.Kind == "ClusterRole" {
				if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, &role); err != nil {
					return err
				}
				rules = append(rules, role.Rules...)
				continue
			}
			var local rbacv1.Role
			if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: ref.Name}, &local); err != nil {
				return err
			}
			rules = append(rules, local.Rules...)
		}
		return nil
	}
	var failed []error
	for _, component := range components {
		failed = append(failed, func() error {
			file, err := os.ReadFile(filepath.Join(s.root, component, "role.yaml"))
			if err != nil {
				return err
			}
			var role rbacv1.ClusterRole
			defer func() { rules = append(rules, role.Rules...) }()
			return yaml.UnmarshalStrict(file, &role)
		}())
	}
	for _, binding := range all.Items {
		failed = append(failed, add(binding.Subjects, binding.RoleRef))
	}
	for _, binding := range one.Items {
		failed = append(failed, add(binding.Subjects, binding.RoleRef))
	}
	return rights.Granted(rules), errors.Join(failed...)
}

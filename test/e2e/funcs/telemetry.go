package funcs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// measures are the operator's own metrics.
type measures map[string]float64

// measured reads the operator's own metrics.
func (c *cluster) measured(ctx context.Context) (measures, error) {
	operator, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	token, err := c.scraper(ctx)
	if err != nil {
		return nil, err
	}
	page, err := c.getAs(ctx, operator.Namespace, operator.Name, 8443, "https", "/metrics", token)
	if err != nil {
		return nil, err
	}
	all := measures{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		if all[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return all, nil
}

// scraper returns a token of a service account that may get the operator's metrics. It
// goes with the operator's namespace.
func (c *cluster) scraper(ctx context.Context) (token string, err error) {
	const name = "e2e-scraper"
	var namespace corev1.Namespace
	if err := c.Get(ctx, client.ObjectKey{Name: OperatorNamespace}, &namespace); err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: name}}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: operatorName + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: OperatorNamespace, Name: name}},
	}
	for _, object := range []client.Object{account, binding} {
		if err := c.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// ExecsAtMost asserts that the operator has run no more than so many commands in pods since
// it started, and at least one. What was denied, as while the policies are older than the
// operator, reached no pod.
func ExecsAtMost(limit int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		const ran = `jmx_exporter_operator_effects_total{kind="exec",result="success"}`
		if execs := answer(ctx, t, c.measured)[ran]; execs == 0 || execs > float64(limit) {
			t.Errorf("the operator ran %v commands in pods, not 1 to %d", execs, limit)
		}
	})
}

// sum adds up the series that begin so.
func (m measures) sum(prefix string) float64 {
	var sum float64
	for series, value := range m {
		if strings.HasPrefix(series, prefix) {
			sum += value
		}
	}
	return sum
}

// OperatorSays waits for a line in the operator's log about a record of the
// namespace. It may have said it, and lost its lease since.
func OperatorSays(namespace, message string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		operator, err := c.operator(ctx)
		if err != nil {
			return err
		}
		log, err := c.log(ctx, operator, "manager")
		if err != nil {
			return err
		}
		if restarts(*operator) > 0 {
			before, err := c.previousLog(ctx, operator, "manager", 10000)
			log += before + said(err)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, strconv.Quote(message)) && strings.Contains(line, strconv.Quote(namespace)) {
				return nil
			}
		}
		return fmt.Errorf("the operator has not said %q of a pod in %s", message, namespace)
	})
}

package funcs

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// OperatorKeptOut has the one pod of a namespace drop what the operator sends, for
// as long as the pod lives. Not every cluster's network enforces a NetworkPolicy:
// a packet filter in the pod does to the operator what one would.
func OperatorKeptOut(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pod, operator := c.theOne(ctx, t, namespace), c.theOperator(ctx, t)
		eventually(ctx, t, func(ctx context.Context) error {
			_, err := c.inNetworkOf(ctx, pod, "/usr/sbin/iptables", "--append", "INPUT", "--source", operator.Status.PodIP, "--jump", "DROP")
			return err
		})
	})
}

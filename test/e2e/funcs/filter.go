package funcs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
			seen, err := c.look(ctx, []corev1.Pod{*pod})
			if err != nil {
				return err
			}
			java := slices.IndexFunc(seen.processes, func(p process) bool { return p.command == "java" })
			if java < 0 {
				return errors.New("no Java process runs in it")
			}
			// The program is the node's, the network the pod's.
			_, err = c.observe(ctx, pod.Spec.NodeName, "nsenter", "--target", "1", "--mount", "--",
				"nsenter", "--target", strconv.Itoa(seen.processes[java].hostPID), "--net", "--",
				"/usr/sbin/iptables", "--append", "INPUT", "--source", operator.Status.PodIP, "--jump", "DROP")
			return err
		})
	})
}

//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Selected pods that do not run are reported, whatever they contain, with the last lines of
// their logs if the operator may read them.
func TestProblemPods(t *testing.T) {
	t.Parallel()
	namespace := funcs.NamespaceFor("problems")
	problems := func(log string) features.Func {
		return funcs.Problems(namespace, funcs.Exporter,
			funcs.Problem{Pod: "crashes", Container: "app", Reason: "CrashLoopBackOff", Words: []string{"exit code 1"}, Restarts: 1, Log: log},
			funcs.Problem{Pod: "failed", Container: "app", Reason: "Error", Words: []string{"exit code 3"}, Log: log},
			funcs.Problem{Pod: "no-image", Container: "app", Reason: "ErrImageNeverPull", Words: []string{"no-such-image"}},
			funcs.Problem{Pod: "no-image", Container: "side", Reason: "ErrImageNeverPull", Words: []string{"no-such-sidecar"}},
			funcs.Problem{Pod: "no-node", Reason: "Unschedulable", Words: []string{"0/", "nodes are available"}},
		)
	}
	testenv.Test(t, features.New("problems").
		WithSetup("a namespace", funcs.InNamespace(namespace)).
		WithSetup("there are pods that do not run", funcs.Apply(namespace, "manifests/problems/pods.yaml")).
		WithSetup("the operator may read logs", suite.MayReadLogs()).
		Assess("the exporter reports the pods", funcs.All(
			funcs.Apply(namespace, rules, "manifests/problems/exporter.yaml"),
			problems(""))).
		Assess("logs are reported if requested", funcs.All(
			funcs.Apply(namespace, "manifests/problems/lines.yaml"),
			problems("three\nfour\nfive"))).
		Assess("deleted pods are not reported", funcs.All(
			funcs.Delete(namespace, "manifests/problems/pods.yaml"),
			funcs.Problems(namespace, funcs.Exporter))).
		Feature())
}

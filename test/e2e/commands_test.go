//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// elsewhere are the blocks of commands in the documentation that TestDocumentedCommands does
// not run, by their page and words in them, why it cannot, and what runs them or proves what
// they are for, if anything does.
var elsewhere = []struct {
	page, words, why string
	proof            kinds.Proof
}{
	{"README.md", "make docker-build docker-push", "needs a registry and a container engine", "test/e2e TestDemo"},
	{"docs/alerting.md", "yq .spec", "writes to /etc", "test/monitoring TestAlerts"},
	{"docs/audit.md", "audit.log", "needs an audit log", "test/integration TestAuditLogNamesRequester"},
	{"docs/changing.md", "go test ./", "is what hack/test does", ""},
	{"docs/containment.md", "docker buildx build", "needs a container engine", ""},
	{"docs/endpoint-security.md", "getpass", "asks for a password", "agent/tests/src/test/java/com/banzaicloud/jmxexporter/tests passwordsCostWithinBounds"},
	{"docs/endpoint-security.md", "create role metrics-tls", "is for another namespace", "test/e2e TestEndpointSecurity"},
	{"docs/engine.md", "make new-operator", "writes a folder", "test/newoperator TestOperator"},
	{"docs/faults.md", "hack/test faults", "is what hack/test does", ""},
	{"docs/faults.md", "go test -run", "is what hack/test does", ""},
	{"docs/gitops.md", "config/samples/every-namespace", "needs two namespaces with these names", "test/integration TestEveryNamespace"},
	{"docs/gitops.md", "argocd-cm", "needs Argo CD", "test/gitops TestStates"},
	{"docs/gitops.md", "--all --all-namespaces", "waits for the exporters of others", "test/e2e TestUndeployed"},
	{"docs/install-helm.md", "helm install", "needs a cluster without an operator", "test/e2e TestChart"},
	{"docs/install-helm.md", "helm upgrade", "needs a release to upgrade", "test/e2e TestChart"},
	{"docs/install-helm.md", "helm uninstall", "removes the operator", "test/e2e TestChart"},
	{"docs/kubectl-jmx.md", "kubectl krew", "needs a published release", ""},
	{"docs/kubectl-jmx.md", "kubectl jmx", "needs the plugin", "test/integration TestKubectlMetrics"},
	{"docs/kubectl-jmx.md", "jmx-attach load", "needs a JVM on this machine", "cmd/jmx-attach TestDocumentedTrial"},
	{"docs/metrics.md", "monitoring:prometheus", "needs a Prometheus in this namespace", "test/integration TestMetricsEndpoint"},
	{"docs/metrics.md", "create token prometheus", "needs a Prometheus in this namespace", "test/integration TestMetricsEndpoint"},
	{"docs/next-start.md", "delete mutatingadmissionpolicy", "takes a policy from another feature", "test/integration TestNextStartWithoutPolicy"},
	{"docs/node-agent.md", "label --overwrite namespace", "changes the namespace of the operator", "test/e2e TestDemoByNode"},
	{"docs/node-agent.md", "daemonset,networkpolicy,serviceaccount", "removes what the operator reaches the pods through", ""},
	{"docs/operations.md", "delete -k config/default", "removes the operator", "test/e2e TestUndeployed"},
	{"docs/preflight.md", "example-preflight", "needs an exporter with this mode", "test/e2e TestPreflight"},
	{"docs/scale.md", "--set shards=2", "needs a release to upgrade", "test/e2e TestChart"},
	{"docs/security.md", "delete clusterrolebinding", "takes a right from the operator", "test/e2e TestRightWithdrawn"},
	{"docs/supply-chain.md", "cosign", "needs a published release", ""},
	{"docs/supply-chain.md", "docker buildx build", "needs a container engine", ""},
	{"docs/troubleshooting.md", "/-/healthy", "needs a place from which pods are reached", "test/integration TestHealthForeignProcess"},
	{"docs/troubleshooting.md", "logs --previous", "needs a container that has restarted", ""},
	{"docs/troubleshooting.md", "deployment/jmx-exporter-operator --previous", "needs a container that has restarted", ""},
	{"docs/troubleshooting.md", ".status.halt", "needs a rollout that has halted", "test/integration TestConfigRejectedHalts"},
	{"docs/troubleshooting.md", ".status.problemPods", "needs a pod that does not run", "test/e2e TestProblemPods"},
	{"docs/troubleshooting.md", "kubectl top", "needs a metrics server", ""},
	{"docs/troubleshooting.md", "jstat", "needs a JDK in the image", ""},
	{"docs/troubleshooting.md", "jcmd", "needs a JDK in the image", ""},
	{"docs/troubleshooting.md", "banzaicloud\\.com/requester", "fails where the user may not, which is what it asks", "test/integration TestEventsNameRequester"},
	{"docs/troubleshooting.md", "grep ^Scrape", "needs a scrape that is incomplete", "test/integration TestScrapeIncomplete"},
}

// The commands of the documentation do what the pages say, for a pod that is Annotated.
func TestDocumentedCommands(t *testing.T) {
	blocks, err := funcs.DocumentedBlocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range elsewhere {
		all := len(blocks)
		blocks = slices.DeleteFunc(blocks, func(b funcs.Block) bool { return b.Page == row.page && strings.Contains(b.Script, row.words) })
		if len(blocks) == all {
			t.Errorf("%s has no block with %q", row.page, row.words)
		}
		if row.proof == "" {
			continue
		}
		if err := row.proof.Check("../.."); err != nil {
			t.Errorf("%s: %q: %v", row.page, row.words, err)
		}
	}
	namespace, applications, feature := running(t, "commands", 1, 1, java17)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("each command succeeds", suite.Documented(namespace, funcs.Exporter, blocks)).
		Assess("the pod is Annotated again", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}

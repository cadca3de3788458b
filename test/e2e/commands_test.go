//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// elsewhere are the blocks of commands in the documentation that TestDocumentedCommands does
// not run, by words in them.
var elsewhere = map[string]struct {
	// why it cannot, and what runs them or proves what they are for, if anything does.
	why   string
	proof kinds.Proof
}{
	"make docker-build docker-push": {"needs a registry and a container engine", "test/e2e TestDemo"},
	"docker buildx build":           {why: "needs a container engine"},
	"yq .spec":                      {"writes to /etc", "test/monitoring TestAlerts"},
	"audit.log":                     {"needs an audit log", "test/integration TestAuditLogNamesRequester"},
	"go test ./":                    {why: "is what hack/test does"},
	"getpass":                       {"asks for a password", "agent/tests/src/test/java/com/banzaicloud/jmxexporter/tests passwordsCostWithinBounds"},
	"create role metrics-tls":       {"is for another namespace", "test/e2e TestEndpointSecurity"},
	"argocd-cm":                     {"needs Argo CD", "test/gitops TestStates"},
	"--all --all-namespaces":        {"would delete the exporters of others, or wait for them", "test/e2e TestUndeployed"},
	"helm install":                  {"needs a cluster without an operator", "test/e2e TestChart"},
	"helm upgrade":                  {"needs a release to upgrade", "test/e2e TestChart"},
	"kubectl krew":                  {why: "needs a published release"},
	"kubectl jmx":                   {"needs the plugin", "test/integration TestKubectlMetrics"},
	"monitoring":                    {"needs a Prometheus in this namespace", "test/integration TestMetricsEndpoint"},
	"example-preflight":             {"needs an exporter with this mode", "test/e2e TestPreflight"},
	"delete clusterrolebinding":     {"would take a right from the operator", "test/e2e TestRightWithdrawn"},
	"cosign":                        {why: "needs a published release"},
	"logs --previous":               {why: "needs a container that has restarted"},
	"deployment/jmx-exporter-operator --previous": {why: "needs a container that has restarted"},
	".status.halt":                {"needs a rollout that has halted", "test/integration TestConfigRejectedHalts"},
	".status.problemPods":         {"needs a pod that does not run", "test/e2e TestProblemPods"},
	"kubectl top":                 {why: "needs a metrics server"},
	"jstat":                       {why: "needs a JDK in the image"},
	"jcmd":                        {why: "needs a JDK in the image"},
	"banzaicloud\\.com/requester": {"fails where the user may not, which is what it asks", "test/integration TestEventsNameRequester"},
	"grep ^Scrape":                {"needs a scrape that is incomplete", "test/integration TestScrapeIncomplete"},
}

// The commands of the documentation do what the pages say, for a pod that is Annotated.
func TestDocumentedCommands(t *testing.T) {
	blocks, err := funcs.DocumentedBlocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	var here []funcs.Block
	left := map[string]bool{}
	for _, block := range blocks {
		found := false
		for words := range elsewhere {
			if strings.Contains(block.Script, words) {
				found, left[words] = true, true
			}
		}
		if !found {
			here = append(here, block)
		}
	}
	for words, reason := range elsewhere {
		if !left[words] {
			t.Errorf("no block has the words %q", words)
		}
		if reason.proof == "" {
			continue
		}
		if err := reason.proof.Check("../.."); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
	namespace, applications, feature := running(t, "commands", 1, 1, java17)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("each command succeeds", suite.Documented(namespace, funcs.Exporter, here)).
		Assess("the pod is Annotated again", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}

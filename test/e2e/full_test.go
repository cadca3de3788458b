//go:build e2e

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// leftToFull are the features that only FULL=1 runs, each with a test of the same rule that
// runs every time: of another suite, without a node, or of this one, in another feature.
// make test prints the names.
var leftToFull = map[string]kinds.Proof{
	"TestAdopted":                     "test/integration TestAdopted",
	"TestAnnotationFight":             "test/integration TestContested",
	"TestAnnotationRefused":           "test/integration TestAnnotationRefused",
	"TestAnnotationTakenOver":         "test/integration TestForeignAnnotations",
	"TestChart":                       "test/integration TestChartReleases",
	"TestConfiguration":               "test/integration TestBadConfiguration",
	"TestConfigurationRollout":        "test/integration TestCanary",
	"TestDemoByEphemeralContainers":   "test/integration TestContainmentDoorOnly",
	"TestDemoByExec":                  "pkg/steps TestTransportAllowed",
	"TestDetachTimeout":               "test/integration TestDetachTimeout",
	"TestEachJava":                    "internal/helper TestLife",
	"TestExecForbidden":               "test/integration TestExecForbidden",
	"TestExecRefused":                 "test/integration TestExecRefused",
	"TestForeignAnnotationAfterwards": "test/integration TestConflictNamesTheManager",
	"TestForeignAnnotationInTemplate": "test/integration TestForeignAnnotations",
	"TestGate":                        "test/integration TestConcurrent",
	"TestHandedOver":                  "test/integration TestTakenOver",
	"TestKindsByNode":                 "internal/helper TestNodeUsers",
	"TestMonitors":                    "test/integration TestPrometheusOperator",
	"TestNamespaced":                  "test/integration TestSomeNamespaces",
	"TestNextStart":                   "test/integration TestNextStart",
	"TestNoJava":                      "test/integration TestLateJVM",
	"TestOneJVMEnds":                  "test/integration TestHealthOneJVMReplaced",
	"TestOperatorKilled":              "test/e2e TestOperatorLife",
	"TestPodGone":                     "test/integration TestPodGoneMidway",
	"TestPortChanged":                 "test/e2e TestChanges",
	"TestPortChangedToBusy":           "test/integration TestBusyPortOfOneOfSeveral",
	"TestPortChosen":                  "test/e2e TestSeveralJVMs",
	"TestRightWithdrawn":              "test/integration TestRightWithdrawn",
	"TestStatefulSet":                 "test/integration TestGone",
	"TestStaticPodWithoutShell":       "test/integration TestDoorOfStaticPod",
	"TestStaticPodByNode":             "test/integration TestNodeAgents",
	"TestSteady":                      "test/e2e TestOperatorLife",
	"TestSuspended":                   "test/integration TestSuspend",
	"TestTakenOut":                    "test/integration TestTakenOut",
	"TestTransportMoved":              "test/integration TestMovesBetweenTransports",
	"TestTwoExporters":                "test/integration TestTwoExporters",
	"TestUndeployed":                  "test/e2e TestOperatorLife",
}

// full reports whether everything runs, however long it takes.
func full() bool { return os.Getenv("FULL") != "" }

// leaveOut skips what is left to FULL=1, unless features were named. It returns what to say
// of that, which may be nothing.
func leaveOut() string {
	run, skip := flag.Lookup("test.run").Value, flag.Lookup("test.skip").Value
	if full() || run.String() != "" || skip.String() != "" {
		return ""
	}
	features := slices.Sorted(maps.Keys(leftToFull))
	var rows []string
	for _, k := range kinds.All() {
		if k.ProvedBy != "" {
			rows = append(rows, k.Name)
		}
	}
	// Skipped tests would count as such, and these are no tests of this run.
	if err := skip.Set("^(" + strings.Join(features, "|") + ")$|^TestKinds$/^(" + strings.Join(rows, "|") + ")$"); err != nil {
		panic(err)
	}
	suite.LeavesOut = true
	return fmt.Sprintf("left to FULL=1: %s; of TestKinds: %s", strings.Join(features, ", "), strings.Join(rows, ", "))
}

// What is left to FULL=1 exists, and so does what is said to prove the same every time.
func TestLeftToFull(t *testing.T) {
	proofs := map[string]kinds.Proof{}
	for feature, proof := range leftToFull {
		proofs[feature] = proof
		if err := kinds.Proof("test/e2e " + feature).Check("../.."); err != nil {
			t.Error(err)
		}
	}
	for _, k := range kinds.All() {
		proofs[k.Name] = k.ProvedBy
	}
	for left, proof := range proofs {
		if err := cmp.Or(proof, "test/e2e TestKinds").Check("../.."); err != nil {
			t.Errorf("%s: %v", left, err)
		}
		if folder, name, _ := strings.Cut(string(proof), " "); folder == "test/e2e" && leftToFull[name] != "" {
			t.Errorf("%s is proved by %s, which is left out, too", left, name)
		}
	}
}

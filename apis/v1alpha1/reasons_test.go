package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"strconv"
	"testing"
)

// constants are the string constants of a Go file of a name that match, by name.
func constants(t *testing.T, file string, name *regexp.Regexp) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, id := range spec.Names {
			if i >= len(spec.Values) || !name.MatchString(id.Name) {
				continue
			}
			if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[id.Name] = value
			}
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constants", file)
	}
	return found
}

func reasons(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	all := constants(t, "reasons.go", regexp.MustCompile("^Reason"))
	maps.Copy(all, constants(t, "exporterreasons.go", regexp.MustCompile("^Reason")))
	maps.Copy(all, constants(t, "scrapereasons.go", regexp.MustCompile("^Reason")))
	for name, value := range all {
		if name != "Reason"+value {
			t.Errorf("%s is called %q", name, value)
		}
		if !regexp.MustCompile(`^[A-Z][A-Za-z]{1,62}$`).MatchString(value) {
			t.Errorf("%q is no reason of a condition", value)
		}
		known[value] = true
	}
	return known
}

// Every reason why a pod is not further is classed, and what is classed is a reason.
func TestReasonsAreClassed(t *testing.T) {
	known := reasons(t)
	for reason := range classes {
		if !known[reason] {
			t.Errorf("%s is classed, but is no reason", reason)
		}
	}
	// Of conditions that hold, and of sums.
	for _, reason := range []string{
		ReasonSelected, ReasonJVMIdentified, ReasonFilesVerified, ReasonAgentServing, ReasonEndpointPublished, ReasonAnnotationsApplied, ReasonScrapable, ReasonAdopted, ReasonValid, ReasonUnknownKeysIgnored, ReasonKeysIgnored, ReasonConfigNotKept, ReasonRevisionsNotDeleted, ReasonAllAnnotated, ReasonNotReached, ReasonProgressing, ReasonReconciled,
		ReasonNoPodsMatched, ReasonPodsInspected, ReasonPodsRefused, ReasonPodsIncomplete, ReasonPodsExpensive, ReasonRolloutPaused, ReasonCustomResourceDefinitionsOutdated, ReasonSpecUnknown,
		ReasonMBeanUnreadable, ReasonUndeclaredAttribute, ReasonInvalidSample, ReasonInvalidValue, ReasonDuplicateSample, ReasonConflictingType, ReasonReservedName, ReasonMetricUnreadable, ReasonMBeansSkipped,
		ReasonCPU, ReasonDuration, ReasonAllocation, ReasonHighCost,
	} {
		if !known[reason] || Known(reason) {
			t.Errorf("%s is classed, but says nothing of why a pod is not further", reason)
		}
		delete(known, reason)
	}
	for reason := range known {
		if !Known(reason) {
			t.Errorf("%s is not classed", reason)
		}
	}
}

// What the helper and the configuration give as reasons are reasons of conditions.
func TestReasonsOfOthersAreKnown(t *testing.T) {
	known := reasons(t)
	for file, name := range map[string]string{
		"../../pkg/helperapi/reason.go":    "^Reason[A-Z]",
		"../../pkg/configuration/error.go": "^Config[A-Z]",
	} {
		for constant, reason := range constants(t, file, regexp.MustCompile(name)) {
			if constant == "ReasonStockExporter" {
				continue // a load that finds it is answered by looking anew
			}
			if !known[reason] || !Known(reason) {
				t.Errorf("%s: %s %q is no reason of a condition", file, constant, reason)
			}
		}
	}
}

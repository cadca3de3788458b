// Package rights joins what the operator asks of the API server with what its roles
// grant.
package rights

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Calls are requests to the API server, each once, as RBAC sees them: "patch
// pods/ephemeralcontainers".
type Calls map[string]bool

// Add notes a call. RBAC asks for create as well where an apply created, and for an
// exec, whose WebSocket is a GET (KEP-4006).
func (c Calls) Add(verb, resource string, created bool) {
	c[verb+" "+resource] = true
	if created || resource == "pods/exec" {
		c["create "+resource] = true
	}
}

// Granted are the calls that rules name, sorted, each once.
func Granted(rules []rbacv1.PolicyRule) []string {
	var granted []string
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted = append(granted, verb+" "+resource)
			}
		}
	}
	slices.Sort(granted)
	return slices.Compact(granted)
}

// Join compares what was called with what is granted, and returns a sentence for each
// right that no call used, those in unused aside, and for each call that no rule names.
// An empty result says that the roles have what is needed, and nothing else.
func Join(calls Calls, granted []string, unused map[string]string) []string {
	var wrong []string
	for _, right := range granted {
		var resource string
		listed, _ := fmt.Sscanf(right, "list %s", &resource)
		streams := listed == 1 && calls["watch "+resource] // an API server that cannot stream is asked for a list
		if !calls[right] && unused[right] == "" && !streams {
			wrong = append(wrong, "no call needs the right to "+right)
		}
	}
	for call := range calls {
		if !slices.Contains(granted, call) {
			wrong = append(wrong, "no rule names the call "+call)
		}
	}
	slices.Sort(wrong)
	return wrong
}

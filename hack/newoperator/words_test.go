package main

import (
	"strings"
	"testing"

	"github.com/gobuffalo/flect"
)

func TestPlurals(t *testing.T) {
	for name, want := range map[string]string{
		"Lighthouse": "Lighthouses", "Policy": "Policies", "NetworkPolicy": "NetworkPolicies", "Gateway": "Gateways",
		"Class": "Classes", "Ingress": "Ingresses", "Mailbox": "Mailboxes", "Patch": "Patches", "Database": "Databases",
		"Proxy": "Proxies", "Alias": "Aliases", "Cache": "Caches", "Series": "Series", "Person": "People",
		"VM": "VMs", "PostgresCluster": "PostgresClusters",
	} {
		if got := pluralOf(name, flect.Pluralize(strings.ToLower(name))); got != want {
			t.Errorf("the plural of %s is %s, want %s", name, got, want)
		}
	}
}

func TestText(t *testing.T) {
	policy := request{name: "Policy", plural: "policies", group: "acme.io", module: "acme.io/operator"}
	user := request{name: "Ingress", plural: "ingresses", group: "example.com", module: "skeleton.org/x"}
	for _, row := range []struct {
		of         request
		text, want string
	}{
		{policy, "A Skeleton runs; a Skeleton, SkeletonList", "A Policy runs; a Policy, PolicyList"},
		{policy, "many Skeletons, skeletons/status", "many Policies, policies/status"},
		{policy, "skeletonspec.go, skeletonstatus.go, SkeletonStatus", "policyspec.go, policystatus.go, PolicyStatus"},
		{policy, "bases/example.com_skeletons.yaml", "bases/acme.io_policies.yaml"},
		{policy, engine + "/examples/skeleton/api, " + engine + "/pkg", "acme.io/operator/api, " + engine + "/pkg"},
		{user, "A Skeleton is not a Skeleton-like thing", "An Ingress is not an Ingress-like thing"},
		{user, engine + "/examples/skeleton", "skeleton.org/x"},
	} {
		if got := newWords(row.of).text(row.text); got != row.want {
			t.Errorf("%q becomes %q, want %q", row.text, got, row.want)
		}
	}
}

func TestArticles(t *testing.T) {
	for name, want := range map[string]bool{
		"Agent": true, "Export": true, "Index": true, "Operation": true, "Upstream": true, "Ulimit": true, "Undo": true,
		"User": false, "Unit": false, "Utility": false, "Event": true, "Eurobond": false, "OneShot": false, "Policy": false,
	} {
		if got := vowel.MatchString(name); got != want {
			t.Errorf("the article of %s is an: %v, want %v", name, got, want)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Each right of the operator's roles, with its verbs, is in the table of docs/security.md.
func TestRights(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/security.md"), "## What it may do\n")
	table, _, _ = strings.Cut(table, "\n## ")
	said := map[string]string{} // verbs by resource
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]+)\|([^|]+)\|`).FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			said[m[1]] += row[2] + ","
		}
	}
	roles, err := filepath.Glob(filepath.Join(root, "config/*/*role.yaml"))
	if err != nil || len(roles) < 5 {
		t.Fatalf("the roles are %q: %v", roles, err)
	}
	for _, file := range roles {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(data, &role); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if strings.HasSuffix(role.Name, "-attach") || strings.HasSuffix(role.Name, "-reader") || strings.Contains(file, "/users/") { // others'
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if !regexp.MustCompile(`\b` + regexp.QuoteMeta(verb) + `\b`).MatchString(said[resource]) {
						t.Errorf("docs/security.md says nothing of the right to %s %s (%s)", verb, resource, file)
					}
				}
			}
		}
	}
}

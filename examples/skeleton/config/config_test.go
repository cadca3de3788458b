// Package config tests that kustomization, samples, role and CRD are of the API in api/v1alpha1:
// after a change of the group or of a kind, make generate leaves what it wrote before, and what
// it does not write.
package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
)

// group is that of the API.
var group = v1alpha1.GroupVersion.Group

// scheme has the kinds of the API, and no others.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// definition is what is compared of a CRD.
type definition struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Group string `json:"group"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name string `json:"name"`
		} `json:"versions"`
	} `json:"spec"`
}

// read decodes a file; unknown fields are errors if strict.
func read(t *testing.T, file string, into any, strict bool) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil && strict {
		err = yaml.UnmarshalStrict(data, into)
	} else if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("config/%s: %v", file, err)
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("config/%s: no such file: %v", pattern, err)
	}
	return found
}

// definitions are the CRDs, by their file.
func definitions(t *testing.T) map[string]definition {
	t.Helper()
	all := map[string]definition{}
	for _, file := range files(t, "crd/bases/*.yaml") {
		var d definition
		read(t, file, &d, false)
		all[file] = d
	}
	return all
}

func TestCRDs(t *testing.T) {
	defined := map[string]bool{}
	for file, d := range definitions(t) {
		switch {
		case d.Spec.Group != group:
			t.Errorf("config/%s is of the group %s, and the API of %s: delete the file if the group was changed.", file, d.Spec.Group, group)
		case !scheme.Recognizes(v1alpha1.GroupVersion.WithKind(d.Spec.Names.Kind)):
			t.Errorf("config/%s is of the kind %s, which the API does not have: delete the file if the kind was renamed.", file, d.Spec.Names.Kind)
		case d.Metadata.Name != d.Spec.Names.Plural+"."+group:
			t.Errorf("config/%s: the name is %s, not %s.%s.", file, d.Metadata.Name, d.Spec.Names.Plural, group)
		case len(d.Spec.Versions) == 0 || d.Spec.Versions[0].Name != v1alpha1.GroupVersion.Version:
			t.Errorf("config/%s: the versions are %v, and that of the API is %s.", file, d.Spec.Versions, v1alpha1.GroupVersion.Version)
		}
		defined[d.Spec.Names.Kind] = true
	}
	for kind := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		object, err := scheme.New(v1alpha1.GroupVersion.WithKind(kind))
		if _, ok := object.(client.Object); err == nil && ok && !defined[kind] {
			t.Errorf("The kind %s has no CRD in config/crd/bases: make generate.", kind)
		}
	}
}

func TestKustomization(t *testing.T) {
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	read(t, "crd/kustomization.yaml", &kustomization, false)
	generated := definitions(t)
	for _, resource := range kustomization.Resources {
		if _, ok := generated[filepath.Join("crd", resource)]; !ok {
			t.Errorf("config/crd/kustomization.yaml lists %s, which does not exist.", resource)
		}
	}
	for file := range generated {
		if resource := strings.TrimPrefix(file, "crd/"); !slices.Contains(kustomization.Resources, resource) {
			t.Errorf("config/crd/kustomization.yaml does not list %s, so make install leaves it out.", resource)
		}
	}
}

func TestSamples(t *testing.T) {
	for _, file := range files(t, "samples/*.yaml") {
		var of metav1.TypeMeta
		read(t, file, &of, false)
		object, err := scheme.New(of.GroupVersionKind())
		if err != nil {
			t.Errorf("config/%s is a %s of %s, which is no kind of the API (%s).", file, of.Kind, of.APIVersion, v1alpha1.GroupVersion)
			continue
		}
		read(t, file, object, true)
	}
}

// The role has the group of the API wherever it has a kind of it.
func TestRole(t *testing.T) {
	var role rbacv1.ClusterRole
	read(t, "rbac/role.yaml", &role, true)
	for _, d := range definitions(t) {
		plural, found := d.Spec.Names.Plural, false
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if name, _, _ := strings.Cut(resource, "/"); name != plural {
					continue
				}
				found = true
				if !slices.Equal(rule.APIGroups, []string{group}) {
					t.Errorf("config/rbac/role.yaml has %s of the group %v, and the API has the group %s: change the markers +kubebuilder:rbac, and make generate.", resource, rule.APIGroups, group)
				}
			}
		}
		if !found {
			t.Errorf("config/rbac/role.yaml has no right on %s.", plural)
		}
	}
}

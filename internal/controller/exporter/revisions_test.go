package exporter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The configuration of the current revision is kept before a pod gets it, and as long as a
// pod may have it; others are kept while a pod has them.
// Nothing is read or written where nothing changes.
func TestPlanRevisions(t *testing.T) {
	exporter := &v1alpha1.PrometheusJmxExporter{}
	exporter.Name = "shop"
	many := make([]string, revisionLimit+2)
	for i := range many {
		many[i] = fmt.Sprintf("r%02d", i)
	}
	invalid := &steps.Problem{Reason: v1alpha1.ReasonConfigNotYAML}
	for name, tc := range map[string]struct {
		current           string
		granted, kept     []string
		unsure            []string // of which it is not known whether they are there
		problem, security *steps.Problem
		behind            bool
		keep, prune       bool
	}{
		"no pod has it":                    {current: "a"},
		"a pod has it or gets it":          {current: "a", granted: []string{"a"}, keep: true},
		"the operator was started":         {current: "a", granted: []string{"a"}, unsure: []string{"a"}, keep: true},
		"it is kept":                       {current: "a", granted: []string{"a"}, kept: []string{"a"}},
		"a pod has the previous one":       {current: "b", granted: []string{"a", "b"}, kept: []string{"a"}, keep: true},
		"no pod has the previous one":      {current: "b", granted: []string{"b"}, kept: []string{"b", "a"}, prune: true},
		"the previous one may be there":    {current: "b", granted: []string{"b"}, kept: []string{"b"}, unsure: []string{"a"}, prune: true},
		"no pod is left":                   {current: "b", kept: []string{"b"}},
		"no pod is left, nor the revision": {current: "b", kept: []string{"a"}, prune: true},
		"a pod is granted nothing":         {current: "b", granted: []string{""}, kept: []string{"b"}},
		"the configuration is invalid":     {current: "a", granted: []string{"a"}, problem: invalid},
		"the Secret is invalid":            {current: "a", granted: []string{"a"}, security: invalid},
		"a record is not seen yet":         {current: "b", kept: []string{"b", "a"}, behind: true},
		"there are as many as may be":      {current: many[0], granted: many[:revisionLimit+1], kept: many[:revisionLimit+1]},
		"there are too many":               {current: many[0], granted: many, kept: many, prune: true},
	} {
		f := &fleet{exporter: exporter, recordsBehind: tc.behind, kept: map[string]bool{}}
		f.rollout.revision, f.inputs.Config.Problem, f.inputs.Security.Problem = tc.current, tc.problem, tc.security
		for _, revision := range tc.kept {
			f.kept[selection.RevisionName(exporter, revision)] = true
		}
		for _, revision := range tc.unsure {
			f.kept[selection.RevisionName(exporter, revision)] = false
		}
		p := f.planRevisions(sets.New(tc.granted...))
		if p.keep != tc.keep || p.prune != tc.prune {
			t.Errorf("%s: got keep %t and prune %t, want %t and %t", name, p.keep, p.prune, tc.keep, tc.prune)
		}
		if p.current != selection.RevisionName(exporter, tc.current) {
			t.Errorf("%s: got %s as the current one", name, p.current)
		}
	}
}

// A ControllerRevision has the content of the ConfigMap, and nothing of the Secret.
func TestRevisionWithoutSecret(t *testing.T) {
	f := &fleet{exporter: &v1alpha1.PrometheusJmxExporter{}}
	f.exporter.Name = "shop"
	f.inputs.Security.Content = []byte("hunter2")
	f.inputs.Security.CertificateSHA256 = "0123abcd"
	stated := f.revisionConfiguration("shop-1", []byte("rules: []\n"))
	if got, want := string(stated.Data.Raw), `{"configuration":"cnVsZXM6IFtdCg=="}`; got != want {
		t.Errorf("data: got %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{v1alpha1.LabelManagedBy, v1alpha1.LabelExporter, v1alpha1.LabelExporterUID}, slices.Sorted(maps.Keys(stated.Labels))); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if strings.Contains(fmt.Sprint(stated.Annotations), "hunter2") {
		t.Errorf("annotations: got %v", stated.Annotations)
	}
}

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestSelectors(t *testing.T) {
	t.Parallel()
	expressions := func(all ...LabelRequirement) *PodSelector { return &PodSelector{MatchExpressions: all} }
	java := map[string]LabelValue{"runtime": "java"}
	for name, tc := range map[string]struct {
		spec     PrometheusJmxExporterSpec
		selected []labels.Set
		others   []labels.Set
	}{
		"nothing":           {others: []labels.Set{{}, {"runtime": "java"}}},
		"an empty selector": {spec: PrometheusJmxExporterSpec{Selector: &PodSelector{}}, others: []labels.Set{{}, {"runtime": "java"}}},
		"labelSelector": {
			spec:     PrometheusJmxExporterSpec{LabelSelector: java},
			selected: []labels.Set{{"runtime": "java", "app": "a"}}, others: []labels.Set{{}, {"runtime": "go"}},
		},
		"matchLabels": {
			spec:     PrometheusJmxExporterSpec{Selector: &PodSelector{MatchLabels: java}},
			selected: []labels.Set{{"runtime": "java", "app": "a"}}, others: []labels.Set{{}, {"runtime": "go"}},
		},
		"In and NotIn": {
			spec: PrometheusJmxExporterSpec{Selector: expressions(
				LabelRequirement{Key: "runtime", Operator: metav1.LabelSelectorOpIn, Values: []LabelValue{"java", "kotlin"}},
				LabelRequirement{Key: "jmx", Operator: metav1.LabelSelectorOpNotIn, Values: []LabelValue{"off"}})},
			selected: []labels.Set{{"runtime": "java"}, {"runtime": "kotlin", "jmx": "on"}}, others: []labels.Set{{"runtime": "java", "jmx": "off"}, {"runtime": "go"}, {}},
		},
		"Exists and DoesNotExist": {
			spec: PrometheusJmxExporterSpec{Selector: expressions(
				LabelRequirement{Key: "runtime", Operator: metav1.LabelSelectorOpExists}, LabelRequirement{Key: "job", Operator: metav1.LabelSelectorOpDoesNotExist})},
			selected: []labels.Set{{"runtime": "go"}}, others: []labels.Set{{"runtime": "go", "job": "a"}, {}},
		},
		"both": {
			spec:     PrometheusJmxExporterSpec{LabelSelector: java, Selector: &PodSelector{MatchLabels: map[string]LabelValue{"app": "a"}}},
			selected: []labels.Set{{"runtime": "java", "app": "a"}}, others: []labels.Set{{"runtime": "java"}, {"app": "a"}},
		},
		"both, and different values": {
			spec:   PrometheusJmxExporterSpec{LabelSelector: java, Selector: &PodSelector{MatchLabels: map[string]LabelValue{"runtime": "go"}}},
			others: []labels.Set{{"runtime": "java"}, {"runtime": "go"}},
		},
		"an invalid expression": {
			spec:   PrometheusJmxExporterSpec{Selector: expressions(LabelRequirement{Key: "runtime", Operator: metav1.LabelSelectorOpIn})},
			others: []labels.Set{{"runtime": "java"}, {}},
		},
		"NotIn without values": {
			spec:   PrometheusJmxExporterSpec{Selector: expressions(LabelRequirement{Key: "runtime", Operator: metav1.LabelSelectorOpNotIn})},
			others: []labels.Set{{"runtime": "java"}, {}},
		},
		"an unknown operator": {
			spec:   PrometheusJmxExporterSpec{Selector: expressions(LabelRequirement{Key: "runtime", Operator: "Gt", Values: []LabelValue{"1"}})},
			others: []labels.Set{{"runtime": "2"}, {}},
		},
	} {
		for want, pods := range map[bool][]labels.Set{true: tc.selected, false: tc.others} {
			for _, pod := range pods {
				if got := tc.spec.AsSelector().Matches(pod); got != want {
					t.Errorf("%s: AsSelector().Matches(%v) = %t, want %t", name, pod, got, want)
				}
				if got := tc.spec.Selects(pod); got != want {
					t.Errorf("%s: Selects(%v) = %t, want %t", name, pod, got, want)
				}
			}
		}
	}
}

func TestSelectsAllocatesNothing(t *testing.T) {
	pod := labels.Set{"runtime": "java", "app": "a"}
	for _, spec := range []PrometheusJmxExporterSpec{
		{LabelSelector: map[string]LabelValue{"runtime": "java"}},
		{Selector: &PodSelector{MatchExpressions: []LabelRequirement{
			{Key: "runtime", Operator: metav1.LabelSelectorOpIn, Values: []LabelValue{"java"}}, {Key: "job", Operator: metav1.LabelSelectorOpDoesNotExist},
		}}},
	} {
		if count := testing.AllocsPerRun(100, func() { spec.Selects(pod) }); count > 0 {
			t.Errorf("%s: %v allocations, want 0", spec.AsSelector(), count)
		}
	}
}

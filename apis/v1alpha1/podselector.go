package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// AsSelector returns labelSelector and selector as a labels.Selector, which API requests
// take. What the API rejects selects nothing: neither of them, or an invalid one.
func (s *PrometheusJmxExporterSpec) AsSelector() labels.Selector {
	set := labels.Set{}
	for key, value := range s.LabelSelector {
		set[key] = string(value)
	}
	selector := labels.SelectorFromSet(set)
	if s.Selector != nil {
		parsed, err := metav1.LabelSelectorAsSelector(s.Selector.labelSelector())
		if err != nil {
			return labels.Nothing()
		}
		requirements, _ := parsed.Requirements()
		selector = selector.Add(requirements...)
	}
	if selector.Empty() {
		return labels.Nothing()
	}
	return selector
}

func (p *PodSelector) labelSelector() *metav1.LabelSelector {
	converted := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range p.MatchLabels {
		converted.MatchLabels[key] = string(value)
	}
	for _, r := range p.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator}
		for _, value := range r.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		converted.MatchExpressions = append(converted.MatchExpressions, requirement)
	}
	return converted
}

// Selects reports whether AsSelector matches the labels of a pod, for what the API accepts. It
// allocates nothing, since it is called for each pod with each exporter of the namespace.
func (s *PrometheusJmxExporterSpec) Selects(pod map[string]string) bool {
	var p PodSelector
	if s.Selector != nil {
		p = *s.Selector
	}
	if len(s.LabelSelector)+len(p.MatchLabels)+len(p.MatchExpressions) == 0 {
		return false
	}
	fails := func(r LabelRequirement) bool { return !r.matches(pod) }
	return hasLabels(pod, s.LabelSelector) && hasLabels(pod, p.MatchLabels) && !slices.ContainsFunc(p.MatchExpressions, fails)
}

func hasLabels(pod map[string]string, required map[string]LabelValue) bool {
	for key, value := range required {
		if has, ok := pod[key]; !ok || has != string(value) {
			return false
		}
	}
	return true
}

func (r *LabelRequirement) matches(pod map[string]string) bool {
	value, has := pod[r.Key]
	listed := has && slices.Contains(r.Values, LabelValue(value))
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		return listed
	case metav1.LabelSelectorOpNotIn:
		return !listed && len(r.Values) > 0
	case metav1.LabelSelectorOpExists:
		return has
	case metav1.LabelSelectorOpDoesNotExist:
		return !has
	default:
		return false
	}
}

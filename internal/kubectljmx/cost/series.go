package cost

import (
	"regexp"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
)

// Bounds are the least and the largest number of series that a rule may have made. A
// response does not say which rule made which series; the name of a metric says which rules
// did not.
type Bounds struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// ownMetrics are the metrics of the agent and of the JVM. Rules rarely make any of these names.
var ownMetrics = regexp.MustCompile(`^(jvm|process|jmx)_`)

// bounds returns those of each rule, from the numbers of series in a response by name, how
// many of them rules made, and which names each rule can give.
func bounds(names map[string]int, total int, rules []*regexp.Regexp) []Bounds {
	all := make([]Bounds, len(rules))
	for name, series := range names {
		var candidates []int
		for i, rule := range rules {
			if rule.MatchString(name) {
				candidates = append(candidates, i)
				all[i].Max += series
			}
		}
		if len(candidates) == 1 && !ownMetrics.MatchString(name) {
			all[candidates[0]].Min += series
		}
	}
	return tightened(all, total)
}

// tightened returns bounds that also respect how many series all rules have made together.
func tightened(all []Bounds, total int) []Bounds {
	least, most := 0, 0
	for _, b := range all {
		least += b.Min
	}
	for i, b := range all {
		all[i].Max = max(b.Min, min(b.Max, total-least+b.Min))
		most += all[i].Max
	}
	for i, b := range all {
		all[i].Min = min(b.Max, max(b.Min, total-most+b.Max))
	}
	return all
}

// seriesByName counts the series of a response.
func seriesByName(metrics string) map[string]int {
	names := map[string]int{}
	for line := range strings.Lines(metrics) {
		if name := endpoint.NameOf(line); name != "" && line[0] != '#' {
			names[name]++
		}
	}
	return names
}

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

// metrics returns what the names of the metrics of each rule match.
func (c *configuration) metrics() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, rule := range c.Rules {
		name := unnamed(rule.Pattern)
		if rule.Name != nil {
			name = *rule.Name
		}
		all = append(all, metricsOf(name, c.Lowercase))
	}
	return all
}

// domain matches the domain at the begin of a pattern that names it.
var domain = regexp.MustCompile(`^\^?((?:[A-Za-z0-9_-]|\\?\.)+)<`)

// unnamed returns a name for a rule without one: the collector makes it of the domain and
// other parts of the MBean.
func unnamed(pattern string) string {
	if found := domain.FindStringSubmatch(pattern); found != nil {
		return "$1" + strings.ReplaceAll(found[1], `\`, "") + "_$1"
	}
	return "$1"
}

const (
	// suffixes are those that a counter gets, and others lose.
	suffixes = "(_total|_created|_bucket|_info)"
	anything = "[A-Za-z0-9_:]*"
)

var (
	suffixed = regexp.MustCompile(suffixes + "+$")
	// part is a part of a replacement of java.util.regex: a group, an escaped character, another.
	part       = regexp.MustCompile(`\$(?:[0-9]+|\{[A-Za-z0-9]+\})|\\(?s:.)|(?s:.)`)
	legal      = regexp.MustCompile(`^[A-Za-z0-9:]$`)
	underscore = regexp.MustCompile(`(_|` + regexp.QuoteMeta(anything) + `){2,}`)
)

// metricsOf returns an expression that matches each name that a rule with this name can
// give a metric. The collector puts groups in, and an underscore for each run of
// underscores and characters that a name cannot have.
func metricsOf(name string, lowercase bool) *regexp.Regexp {
	var expression strings.Builder
	for _, p := range part.FindAllString(suffixed.ReplaceAllString(name, ""), -1) {
		switch p = strings.TrimPrefix(p, `\`); {
		case len(p) > 1 && p[0] == '$':
			expression.WriteString(anything)
		case legal.MatchString(p):
			expression.WriteString(p)
		default:
			expression.WriteByte('_')
		}
	}
	// A group may be empty, or begin and end with an underscore.
	folded := underscore.ReplaceAllStringFunc(expression.String(), func(run string) string {
		if strings.Contains(run, anything) {
			return anything
		}
		return "_"
	})
	flags := ""
	if lowercase {
		flags = "(?i)"
	}
	return regexp.MustCompile(flags + "^_?" + folded + suffixes + "*$")
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

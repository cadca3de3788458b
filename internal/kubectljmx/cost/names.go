package cost

import (
	"regexp"
	"strings"
)

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

package endpoint

import (
	"regexp"
	"strings"
)

// Filter returns the lines of metrics whose name the pattern matches, and what describes them.
func Filter(metrics string, pattern *regexp.Regexp) string {
	var kept strings.Builder
	for line := range strings.Lines(metrics) {
		if pattern.MatchString(NameOf(line)) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// NameOf returns the name of the metric that a line of the text format is about.
func NameOf(line string) string {
	for _, comment := range []string{"# HELP ", "# TYPE "} {
		line = strings.TrimPrefix(line, comment)
	}
	// A name that is not a legacy one is quoted; in a sample, within the braces.
	if quoted, ok := strings.CutPrefix(strings.TrimPrefix(line, "{"), `"`); ok {
		name, _, _ := strings.Cut(quoted, `"`)
		return name
	}
	return line[:strings.IndexFunc(line+" ", func(r rune) bool { return r == ' ' || r == '{' || r == '\n' })]
}

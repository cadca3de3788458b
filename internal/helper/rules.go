//go:build linux

package helper

import (
	"regexp"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const (
	// maxRules limits how many rules are evaluated for each process.
	maxRules = 64
	// maxCompared limits how much of a command line is compared with a pattern, in bytes: the
	// kernel allows six megabytes, and every pattern is matched against every character.
	maxCompared = 64 << 10
)

// rule is a compiled ProcessRule.
type rule struct {
	excludes                        bool
	mainClass, optionName, argument *condition
}

// condition is a compiled pattern; nil always holds.
type condition struct {
	*regexp.Regexp
	// prefix begins every text that the pattern matches.
	prefix string
}

// compileRules compiles the rules of a request, unless they are too large: it uses the memory
// of the application's container. Its error has ReasonBadRequest and names the rule, counted
// from 1.
func compileRules(given []helperapi.ProcessRule) ([]rule, error) {
	if len(given) > maxRules {
		return nil, helperapi.Errorf(helperapi.ReasonBadRequest, "%d rules are more than %d.", len(given), maxRules)
	}
	if err := checkPatterns(given); err != nil {
		return nil, err
	}
	var rules []rule
	for i, g := range given {
		if g.Action != helperapi.RuleInclude && g.Action != helperapi.RuleExclude {
			return nil, helperapi.Errorf(helperapi.ReasonBadRequest, "Rule %d: the action %q is neither %s nor %s.", i+1, g.Action, helperapi.RuleInclude, helperapi.RuleExclude)
		}
		rules = append(rules, rule{g.Action == helperapi.RuleExclude, anchored(g.MainClass), anchored(g.OptionName), anchored(g.Argument)})
	}
	return rules, nil
}

// checkPatterns returns an error unless all patterns of the rules can be compiled.
func checkPatterns(given []helperapi.ProcessRule) error {
	var patterns helperapi.Patterns
	for i, g := range given {
		for _, field := range []struct{ name, pattern string }{{"mainClass", g.MainClass}, {"optionName", g.OptionName}, {"argument", g.Argument}} {
			if _, err := patterns.Add(field.pattern); err != nil {
				return helperapi.Errorf(helperapi.ReasonBadRequest, "Rule %d: %s: %v.", i+1, field.name, err)
			}
		}
	}
	return nil
}

// anchored compiles a pattern that checkPatterns accepted; nil if it is empty.
func anchored(pattern string) *condition {
	if pattern == "" {
		return nil
	}
	prefix, _ := regexp.MustCompile("(?s:" + pattern + ")").LiteralPrefix() // of an anchored one, it may be unknown
	return &condition{regexp.MustCompile(helperapi.Anchored(pattern)), prefix}
}

// excluded reports whether the rules exclude a process: the first matching rule decides;
// a process that no rule matches is included. It fails if the arguments cannot be read, as
// those of a process that has exited.
func excluded(p jvm.Process, rules []rule) (bool, error) {
	var arguments []string
	if slices.ContainsFunc(rules, func(r rule) bool { return r.argument != nil || r.optionName != nil }) {
		var err error
		if arguments, err = p.Arguments(); err != nil {
			return false, err
		}
	}
	mainClass, names := []string{p.MainClass}, optionNames(arguments)
	for _, r := range rules {
		if r.mainClass.holds(mainClass, r.excludes) && r.optionName.holds(names, r.excludes) && r.argument.holds(arguments, r.excludes) {
			return r.excludes, nil
		}
	}
	return false, nil
}

// holds reports whether the pattern matches one of the texts. It is compared with the first
// maxCompared bytes of those that begin as it does, without those that are too long;
// undecided is the answer if no other text matches: a rule that excludes matches then, since
// such a text may be what it is about, and one that includes does not.
func (c *condition) holds(texts []string, undecided bool) bool {
	if c == nil {
		return true
	}
	left, cut := maxCompared, false
	for _, text := range texts {
		switch {
		case !strings.HasPrefix(text, c.prefix):
		case len(text) > left:
			cut = true
		case c.MatchString(text):
			return true
		default:
			left -= len(text)
		}
	}
	return cut && undecided
}

// optionNames returns the names of the options among the arguments, without their values.
func optionNames(arguments []string) []string {
	var names []string
	for _, argument := range arguments {
		if strings.HasPrefix(argument, "-") {
			name, _, _ := strings.Cut(argument, "=")
			names = append(names, name)
		}
	}
	return names
}

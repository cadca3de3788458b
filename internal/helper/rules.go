//go:build linux

package helper

import (
	"regexp"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// maxRules limits how many expressions are matched against every argument.
const maxRules = 64

// rule is a compiled ProcessRule; a nil condition always holds.
type rule struct {
	excludes            bool
	mainClass, argument *regexp.Regexp
}

// compileRules compiles the rules of a request. Its error has ReasonBadRequest and names
// the rule, counted from 1.
func compileRules(given []helperapi.ProcessRule) ([]rule, error) {
	if len(given) > maxRules {
		return nil, helperapi.Errorf(helperapi.ReasonBadRequest, "%d rules are more than %d.", len(given), maxRules)
	}
	var rules []rule
	for i, g := range given {
		if g.Action != helperapi.RuleInclude && g.Action != helperapi.RuleExclude {
			return nil, helperapi.Errorf(helperapi.ReasonBadRequest, "Rule %d: the action %q is neither %s nor %s.", i+1, g.Action, helperapi.RuleInclude, helperapi.RuleExclude)
		}
		mainClass, err := anchored(g.MainClass)
		if err != nil {
			return nil, helperapi.Errorf(helperapi.ReasonBadRequest, "Rule %d: mainClass: %v.", i+1, err)
		}
		argument, err := anchored(g.Argument)
		if err != nil {
			return nil, helperapi.Errorf(helperapi.ReasonBadRequest, "Rule %d: argument: %v.", i+1, err)
		}
		rules = append(rules, rule{excludes: g.Action == helperapi.RuleExclude, mainClass: mainClass, argument: argument})
	}
	return rules, nil
}

// anchored compiles an expression that must match a whole text, with a dot that matches
// newlines, as in Prometheus; nil if it is empty.
func anchored(expression string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(expression); err != nil { // otherwise "a)|(b" would escape the anchors
		return nil, err
	}
	return regexp.Compile(`\A(?s:` + expression + `)\z`)
}

// excluded reports whether the rules exclude a process: the first matching rule decides;
// a process that no rule matches is included.
func excluded(p jvm.Process, rules []rule) bool {
	var arguments []string
	if slices.ContainsFunc(rules, func(r rule) bool { return r.argument != nil }) {
		arguments, _ = p.Arguments() // unreadable arguments match nothing
	}
	for _, r := range rules {
		if r.matches(p.MainClass, arguments) {
			return r.excludes
		}
	}
	return false
}

func (r rule) matches(mainClass string, arguments []string) bool {
	return (r.mainClass == nil || r.mainClass.MatchString(mainClass)) &&
		(r.argument == nil || slices.ContainsFunc(arguments, r.argument.MatchString))
}

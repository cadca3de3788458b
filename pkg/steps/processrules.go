package steps

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// processRules returns the rules of an exporter as the helper gets them.
func processRules(exporter *v1alpha1.PrometheusJmxExporter) []helperapi.ProcessRule {
	var rules []helperapi.ProcessRule
	for _, r := range exporter.Spec.Processes {
		rules = append(rules, helperapi.ProcessRule{
			Action: helperapi.RuleAction(r.Action), MainClass: string(r.MainClass), OptionName: string(r.Argument), Argument: string(r.WholeArgument),
		})
	}
	return rules
}

// ProcessRulesProblem returns why spec.processes cannot be used; nil if it can. The API server
// refuses most of this, but not what it stored before it did, nor a pattern that is expensive
// to check.
func ProcessRulesProblem(exporter *v1alpha1.PrometheusJmxExporter) *Problem {
	var patterns helperapi.Patterns
	for i, r := range exporter.Spec.Processes {
		for _, field := range []struct {
			name    string
			pattern v1alpha1.Pattern
		}{{"mainClass", r.MainClass}, {"argument", r.Argument}, {"wholeArgument", r.WholeArgument}} {
			parsed, err := patterns.Add(string(field.pattern))
			if err == nil && field.name == "argument" && hasLiteral(parsed, '=') {
				err = errNotOfName
			}
			if err != nil {
				return &Problem{v1alpha1.ReasonProcessRulesInvalid, fmt.Sprintf("spec.processes[%d].%s cannot be used: %s.", i, field.name, text.Line(err.Error(), maxPatternError))}
			}
		}
	}
	return nil
}

// errNotOfName is why a pattern with a literal = cannot match the name of an option.
var errNotOfName = errors.New("it is compared with the names of options, which end before their first =, and contains a = itself; to match an option with its value, use wholeArgument")

// hasLiteral reports whether an expression contains a character literally.
func hasLiteral(re *syntax.Regexp, character rune) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, character) ||
		slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return hasLiteral(sub, character) })
}

// readsArguments reports whether the rules of an exporter depend on the values of arguments,
// which then can be found out by writing one rule after another.
func readsArguments(exporter *v1alpha1.PrometheusJmxExporter) bool {
	return slices.ContainsFunc(exporter.Spec.Processes, func(r v1alpha1.ProcessRule) bool { return r.WholeArgument != "" })
}

// maxPatternError is the maximum length of what is wrong with a pattern, which may quote it, in
// a message, in bytes.
const maxPatternError = 400

// rulesInvalid returns why no container can be inspected by the exporter's rules; nil if all
// can, or if the inspection needs no rules.
func (s *Situation) rulesInvalid() *statemachine.Outcome {
	if s.keepsAll() {
		return nil
	}
	problem := ProcessRulesProblem(s.Exporter)
	if problem == nil {
		return nil
	}
	return new(record.NotDone(problem.Reason, problem.Message))
}

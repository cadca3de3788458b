//go:build linux

package helper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Rules on a real command line: what they can match, and what they cannot.
func TestRules(t *testing.T) {
	jvmtest.Need(t, 17).Start(t, jvmtest.Options{
		Args: []string{"-Drole=worker", "-Dpassword=hush", "-Dnote=first\nsecond"},
		Env:  []string{"JAVA_TOOL_OPTIONS=-Denvironment=yes"},
	})
	exclude := func(mainClass, argument string) helperapi.ProcessRule {
		return helperapi.ProcessRule{Action: helperapi.RuleExclude, MainClass: mainClass, Argument: argument}
	}
	include := func(mainClass, argument string) helperapi.ProcessRule {
		return helperapi.ProcessRule{Action: helperapi.RuleInclude, MainClass: mainClass, Argument: argument}
	}
	for name, test := range map[string]struct {
		rules    []helperapi.ProcessRule
		excluded bool
	}{
		"none":                          {nil, false},
		"any process":                   {[]helperapi.ProcessRule{exclude("", "")}, true},
		"main class":                    {[]helperapi.ProcessRule{exclude("A.p", "")}, true},
		"part of the main class":        {[]helperapi.ProcessRule{exclude("A", "")}, false},
		"alternatives are whole, too":   {[]helperapi.ProcessRule{exclude("A|p", "")}, false},
		"flags":                         {[]helperapi.ProcessRule{exclude("(?i)app", "")}, true},
		"option of the JVM":             {[]helperapi.ProcessRule{exclude("", "-Drole=w.*")}, true},
		"part of an option":             {[]helperapi.ProcessRule{exclude("", "role=worker")}, false},
		"argument with a newline":       {[]helperapi.ProcessRule{exclude("", "-Dnote=.*second")}, true},
		"a line of an argument":         {[]helperapi.ProcessRule{exclude("", "(?m)^second$")}, false},
		"program's name":                {[]helperapi.ProcessRule{exclude("", ".*/bin/java")}, false},
		"environment":                   {[]helperapi.ProcessRule{exclude("", ".*environment.*")}, false},
		"both conditions":               {[]helperapi.ProcessRule{exclude("App", "-Drole=worker")}, true},
		"one condition of two":          {[]helperapi.ProcessRule{exclude("App", "-Drole=boss")}, false},
		"other condition of two":        {[]helperapi.ProcessRule{exclude("Other", "-Drole=worker")}, false},
		"first that matches: include":   {[]helperapi.ProcessRule{include("App", ""), exclude("", "")}, false},
		"first that matches: exclude":   {[]helperapi.ProcessRule{exclude("App", ""), include("", "")}, true},
		"all but those that match":      {[]helperapi.ProcessRule{include("Other", ""), exclude("", "")}, true},
		"an include alone excludes not": {[]helperapi.ProcessRule{include("Other", "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			report := do(t, helperapi.VerbInspect, helperapi.Request{Rules: test.rules})
			wantReason(t, report, "")
			if len(report.Processes) != 1 || report.Processes[0].Excluded != test.excluded {
				t.Errorf("excluded is not %v in %+v", test.excluded, report.Processes)
			}
		})
	}
}

func TestBadRules(t *testing.T) {
	for name, test := range map[string]struct {
		rule helperapi.ProcessRule
		says string
	}{
		"main class":         {helperapi.ProcessRule{Action: helperapi.RuleExclude, MainClass: "("}, "Rule 2: mainClass: error parsing regexp: missing closing ): `(`."},
		"argument":           {helperapi.ProcessRule{Action: helperapi.RuleExclude, Argument: "a{2,1}"}, "Rule 2: argument: error parsing regexp: invalid repeat count: `{2,1}`."},
		"out of the anchors": {helperapi.ProcessRule{Action: helperapi.RuleExclude, MainClass: "a)|(b"}, "Rule 2: mainClass: error parsing regexp: unexpected ): `a)|(b`."},
		"not RE2":            {helperapi.ProcessRule{Action: helperapi.RuleExclude, MainClass: "(?=a)"}, "Rule 2: mainClass: error parsing regexp: invalid or unsupported Perl syntax: `(?=`."},
		"action":             {helperapi.ProcessRule{Action: "Drop"}, `Rule 2: the action "Drop" is neither Include nor Exclude.`},
	} {
		t.Run(name, func(t *testing.T) {
			report := do(t, helperapi.VerbInspect, helperapi.Request{Rules: []helperapi.ProcessRule{{Action: helperapi.RuleInclude}, test.rule}})
			wantReason(t, report, helperapi.ReasonBadRequest)
			if diff := cmp.Diff(test.says, report.Error.Message); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := make([]helperapi.ProcessRule, maxRules+1)
	report := do(t, helperapi.VerbInspect, helperapi.Request{Rules: many})
	wantReason(t, report, helperapi.ReasonBadRequest)
	if !strings.Contains(report.Error.Message, "65 rules") {
		t.Errorf("said %q", report.Error.Message)
	}
}

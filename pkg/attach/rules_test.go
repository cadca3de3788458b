//go:build linux

package attach

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Rules on a real command line: what a rule may ask about, and what it may not.
func TestRules(t *testing.T) {
	jvmtest.Need(t, 17).Start(t, jvmtest.Options{
		Args: []string{"-Drole=worker", "-Dpassword=hush", "-Dnote=first\nsecond"},
		Env:  []string{"JAVA_TOOL_OPTIONS=-Denvironment=yes"},
	})
	exclude := func(mainClass, argument string) ProcessRule { return ProcessRule{RuleExclude, mainClass, argument} }
	include := func(mainClass, argument string) ProcessRule { return ProcessRule{RuleInclude, mainClass, argument} }
	for name, test := range map[string]struct {
		rules    []ProcessRule
		excluded bool
	}{
		"none":                          {nil, false},
		"any process":                   {[]ProcessRule{exclude("", "")}, true},
		"main class":                    {[]ProcessRule{exclude("A.p", "")}, true},
		"part of the main class":        {[]ProcessRule{exclude("A", "")}, false},
		"alternatives are whole, too":   {[]ProcessRule{exclude("A|p", "")}, false},
		"flags":                         {[]ProcessRule{exclude("(?i)app", "")}, true},
		"option of the JVM":             {[]ProcessRule{exclude("", "-Drole=w.*")}, true},
		"part of an option":             {[]ProcessRule{exclude("", "role=worker")}, false},
		"argument with a newline":       {[]ProcessRule{exclude("", "-Dnote=.*second")}, true},
		"a line of an argument":         {[]ProcessRule{exclude("", "(?m)^second$")}, false},
		"program's name":                {[]ProcessRule{exclude("", ".*/bin/java")}, false},
		"environment":                   {[]ProcessRule{exclude("", ".*environment.*")}, false},
		"both conditions":               {[]ProcessRule{exclude("App", "-Drole=worker")}, true},
		"one condition of two":          {[]ProcessRule{exclude("App", "-Drole=boss")}, false},
		"other condition of two":        {[]ProcessRule{exclude("Other", "-Drole=worker")}, false},
		"first that matches: include":   {[]ProcessRule{include("App", ""), exclude("", "")}, false},
		"first that matches: exclude":   {[]ProcessRule{exclude("App", ""), include("", "")}, true},
		"all but those that match":      {[]ProcessRule{include("Other", ""), exclude("", "")}, true},
		"an include alone excludes not": {[]ProcessRule{include("Other", "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			report := do(t, VerbInspect, Request{Rules: test.rules})
			wantReason(t, report, "")
			if len(report.Processes) != 1 || report.Processes[0].Excluded != test.excluded {
				t.Errorf("excluded is not %v in %+v", test.excluded, report.Processes)
			}
		})
	}
}

func TestBadRules(t *testing.T) {
	for name, test := range map[string]struct {
		rule ProcessRule
		says string
	}{
		"main class":         {ProcessRule{RuleExclude, "(", ""}, "Rule 2: mainClass: error parsing regexp: missing closing ): `(`."},
		"argument":           {ProcessRule{RuleExclude, "", "a{2,1}"}, "Rule 2: argument: error parsing regexp: invalid repeat count: `{2,1}`."},
		"out of the anchors": {ProcessRule{RuleExclude, "a)|(b", ""}, "Rule 2: mainClass: error parsing regexp: unexpected ): `a)|(b`."},
		"not RE2":            {ProcessRule{RuleExclude, "(?=a)", ""}, "Rule 2: mainClass: error parsing regexp: invalid or unsupported Perl syntax: `(?=`."},
		"action":             {ProcessRule{"Drop", "", ""}, `Rule 2: the action "Drop" is neither Include nor Exclude.`},
	} {
		t.Run(name, func(t *testing.T) {
			report := do(t, VerbInspect, Request{Rules: []ProcessRule{{Action: RuleInclude}, test.rule}})
			wantReason(t, report, ReasonBadRequest)
			if diff := cmp.Diff(test.says, report.Error.Message); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := make([]ProcessRule, maxRules+1)
	report := do(t, VerbInspect, Request{Rules: many})
	wantReason(t, report, ReasonBadRequest)
	if !strings.Contains(report.Error.Message, "65 rules") {
		t.Errorf("said %q", report.Error.Message)
	}
}

//go:build linux

package helper

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
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
	option := func(name string) []helperapi.ProcessRule {
		return []helperapi.ProcessRule{{Action: helperapi.RuleExclude, OptionName: name}}
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
		"name of an option":             {option("-Drole"), true},
		"name without a value":          {option("-c[lp]"), true},
		"part of a name":                {option("role"), false},
		"name and value":                {option("-Drole=worker"), false},
		"name, and anything":            {option("-Drole.*"), true},
		"a value":                       {option(".*worker.*"), false},
		"no name":                       {option("App|.*jar"), false},
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
		"name of an option":  {helperapi.ProcessRule{Action: helperapi.RuleExclude, OptionName: "a**{"}, "Rule 2: optionName: error parsing regexp: invalid nested repetition operator: `**`."},
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

// A search by patterns reads an argument with its value, one character after another, although
// only its result leaves the container. A pattern for the names of options reads no value.
func TestArgumentsSearched(t *testing.T) {
	const secret = "hush7"
	jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Dpassword=" + secret}})
	read := func(rule func(pattern string) helperapi.ProcessRule) string {
		const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
		matches := func(pattern string) bool {
			report := do(t, helperapi.VerbInspect, helperapi.Request{Rules: []helperapi.ProcessRule{rule(pattern)}})
			wantReason(t, report, "")
			return report.Processes[0].Excluded
		}
		known := ""
		for matches("-Dpassword=" + known + "[" + alphabet + "].*") {
			left := alphabet
			for len(left) > 1 {
				half := left[:len(left)/2]
				if !matches("-Dpassword=" + known + "[" + half + "].*") {
					half = left[len(left)/2:]
				}
				left = half
			}
			known += left
		}
		return known
	}
	got := read(func(pattern string) helperapi.ProcessRule {
		return helperapi.ProcessRule{Action: helperapi.RuleExclude, Argument: pattern}
	})
	if got != secret {
		t.Errorf("a search in whole arguments read %q, so this test proves nothing", got)
	}
	got = read(func(pattern string) helperapi.ProcessRule {
		return helperapi.ProcessRule{Action: helperapi.RuleExclude, OptionName: pattern}
	})
	if got != "" {
		t.Errorf("a search in names of options read %q", got)
	}
}

// An argument that is too long is not compared, and the others are. A rule that excludes
// matches if such an argument may be what it is about; one that includes does not.
func TestLongCommandLine(t *testing.T) {
	long, most := "-Dlong="+strings.Repeat("x", maxCompared), "-Dmost="+strings.Repeat("x", maxCompared-len("-Dmost="))
	jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Dfirst", long, most, "-Dlast"}})
	rule := func(action helperapi.RuleAction, name, argument string) helperapi.ProcessRule {
		return helperapi.ProcessRule{Action: action, OptionName: name, Argument: argument}
	}
	all := rule(helperapi.RuleExclude, "", "")
	for name, test := range map[string]struct {
		rules []helperapi.ProcessRule
		want  bool
	}{
		"the name of an option before it": {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "-Dfirst", "")}, true},
		"its name":                        {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "-Dlong", "")}, true},
		"the name of an option after it":  {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "-Dlast", "")}, true},
		"a name that is not there":        {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "-Dother", "")}, false},
		"it is excluded":                  {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "", "-Dlong=x+")}, true},
		"it may be excluded":              {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "", "-Dlong=x+y")}, true},
		"anything may be excluded":        {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "", ".*y")}, true},
		"an argument that is not there":   {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "", "-Dother.*")}, false},
		"an argument as long as allowed":  {[]helperapi.ProcessRule{rule(helperapi.RuleInclude, "", "-Dmost=x+"), all}, false},
		"it begins as one of others may":  {[]helperapi.ProcessRule{rule(helperapi.RuleExclude, "", "-Dother|-Dwhich")}, true},
		"it is included":                  {[]helperapi.ProcessRule{rule(helperapi.RuleInclude, "", "-Dlong=x+"), all}, true},
		"another one is included":         {[]helperapi.ProcessRule{rule(helperapi.RuleInclude, "", "-Dlast"), all}, false},
	} {
		report := do(t, helperapi.VerbInspect, helperapi.Request{Rules: test.rules})
		wantReason(t, report, "")
		if got := report.Processes[0].Excluded; got != test.want {
			t.Errorf("%s: got excluded %t, want %t", name, got, test.want)
		}
	}
}

// A process whose command line cannot be read is neither excluded nor attached to.
func TestCommandLineUnreadable(t *testing.T) {
	rules, err := compileRules([]helperapi.ProcessRule{{Action: helperapi.RuleExclude, Argument: "-Drole=backup"}})
	if err != nil {
		t.Fatal(err)
	}
	gone := jvm.Process{PID: os.Getpid()} // another process has its ID
	if got, err := excluded(gone, rules); err == nil || typed(err).Reason != helperapi.ReasonProcessGone {
		t.Errorf("got excluded %t, %v, want %s", got, err, helperapi.ReasonProcessGone)
	}
}

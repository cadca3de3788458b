//go:build linux

package helper

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// largePattern is short, and compiles to a hundred thousand instructions.
var largePattern = strings.Repeat("(.?){999}", 28)

// Rules that would take the memory of the application's container, or its CPU, are refused
// before any of them is compiled, and before any process is looked at.
func TestRulesThatCostMuch(t *testing.T) {
	if allocated, _ := costOf(func() { regexp.MustCompile(largePattern) }); allocated < 8<<20 {
		t.Errorf("a compiled pattern takes %d bytes only, so this test proves nothing", allocated)
	}
	many := make([]helperapi.ProcessRule, maxRules)
	for i := range many {
		many[i] = helperapi.ProcessRule{Action: helperapi.RuleExclude, MainClass: "(.?){99}", Argument: "(.?){99}"}
	}
	for name, tc := range map[string]struct {
		rules []helperapi.ProcessRule
		says  string
	}{
		"one pattern":   {[]helperapi.ProcessRule{{Action: helperapi.RuleInclude}, {Action: helperapi.RuleExclude, Argument: largePattern}}, "Rule 2: argument: "},
		"many patterns": {many, "Rule "},
		"a long one":    {[]helperapi.ProcessRule{{Action: helperapi.RuleExclude, MainClass: strings.Repeat("a", 40<<10)}}, "Rule 1: mainClass: the pattern has 40960 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			var report helperapi.Report
			allocated, took := costOf(func() { report = do(t, helperapi.VerbInspect, helperapi.Request{Rules: tc.rules}) })
			wantReason(t, report, helperapi.ReasonBadRequest)
			if report.Error != nil && !strings.HasPrefix(report.Error.Message, tc.says) {
				t.Errorf("said %q, want %q", report.Error.Message, tc.says)
			}
			if allocated > 2<<20 || took > time.Second {
				t.Errorf("took %d bytes and %s, want at most 2 MiB and a second", allocated, took)
			}
		})
	}
}

// costOf returns the bytes that f allocates, and how long it takes.
func costOf(f func()) (allocated uint64, took time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	f()
	took = time.Since(begin)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took
}

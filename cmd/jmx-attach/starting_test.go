//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// load waits for an agent that takes long to start. The reports are fakes: how long a JVM
// takes depends on the machine.
func TestAwaitStart(t *testing.T) {
	answer := func(reason helperapi.Reason, state helperapi.AgentState) helperapi.Report {
		report := helperapi.Report{Processes: []helperapi.Process{{Mark: &helperapi.Mark{State: state}}}}
		if reason != "" {
			report.Error = helperapi.Errorf(reason, "As it is.")
		}
		return report
	}
	slow := answer(helperapi.ReasonAgentNotAnswering, helperapi.AgentStarting)
	for name, tc := range map[string]struct {
		reports []helperapi.Report
		expired bool
		reason  helperapi.Reason
		says    string
		lines   int
	}{
		"at once":                  {reports: []helperapi.Report{answer("", helperapi.AgentRunning)}},
		"after a while":            {reports: []helperapi.Report{slow, slow, answer("", helperapi.AgentRunning)}, lines: 2},
		"fails after a while":      {reports: []helperapi.Report{slow, answer(helperapi.ReasonPortInUse, helperapi.AgentFailed)}, reason: helperapi.ReasonPortInUse, lines: 1},
		"does not answer at all":   {reports: []helperapi.Report{answer(helperapi.ReasonAgentNotAnswering, helperapi.AgentRunning)}, reason: helperapi.ReasonAgentNotAnswering},
		"is refused":               {reports: []helperapi.Report{{Error: helperapi.Errorf(helperapi.ReasonBusy, "As it is.")}}, reason: helperapi.ReasonBusy},
		"not before the time ends": {reports: []helperapi.Report{slow}, expired: true, reason: helperapi.ReasonAgentNotAnswering, says: "run load again"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.expired {
				before := startTimeout
				t.Cleanup(func() { startTimeout = before })
				startTimeout = 0
			}
			var stderr bytes.Buffer
			reports := tc.reports
			report := awaitStart(func() helperapi.Report {
				next := reports[0]
				reports = reports[1:]
				return next
			}, &stderr)
			if len(reports) > 0 {
				t.Errorf("%d loads were left out", len(reports))
			}
			if (report.Error == nil) != (tc.reason == "") || report.Error != nil && (report.Error.Reason != tc.reason || !strings.Contains(report.Error.Message, tc.says)) {
				t.Errorf("it ended with %v", report.Error)
			}
			if lines := strings.Count(stderr.String(), "still starting"); lines != tc.lines {
				t.Errorf("%d lines of progress, want %d:\n%s", lines, tc.lines, &stderr)
			}
		})
	}
}

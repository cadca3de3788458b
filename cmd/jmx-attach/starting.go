//go:build linux

package main

import (
	"io"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// startTimeout is how long load waits for an agent that is starting, which takes seconds on
// a busy host. A variable for tests.
var startTimeout = time.Minute

// awaitStart repeats a load while the agent is starting, and says so. A load of an agent
// that is there waits for its answer, and loads nothing again.
func awaitStart(load func() helperapi.Report, stderr io.Writer) helperapi.Report {
	begin := time.Now()
	for {
		report := load()
		waited := time.Since(begin)
		if !starting(report) {
			return report
		}
		if waited >= startTimeout {
			report.Error.Message += " It stays in the JVM; run load again to see whether it has started."
			return report
		}
		sayf(stderr, "jmx-attach load: the agent is loaded and still starting after %s; waiting up to %s", waited.Round(time.Second), startTimeout)
	}
}

func starting(report helperapi.Report) bool {
	if report.Error == nil || report.Error.Reason != helperapi.ReasonAgentNotAnswering || len(report.Processes) != 1 {
		return false
	}
	mark := report.Processes[0].Mark
	return mark != nil && mark.State == helperapi.AgentStarting
}

//go:build linux

package attach

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// status tells what the agent says of itself, and whether that is true: a
// running agent is asked for its metrics.
func status(ctx context.Context, req Request, report *Report) error {
	p, err := lookup(req)
	if err != nil {
		return err
	}
	process, _, err := observe(ctx, p)
	if err != nil {
		return err
	}
	report.Processes = []Process{process}
	if report.ListeningPorts, err = jvm.ListeningPorts(p.PID); err != nil {
		return err
	}
	switch {
	case process.Mark == nil && process.AgentJarOpen:
		return failf(ReasonAgentNotAnswering, "The agent is in the JVM, but its mark cannot be read.")
	case process.Mark == nil || process.Mark.State != AgentRunning || !p.SharesNetwork():
		return nil
	default:
		return get(ctx, Endpoint{Port: process.Mark.Port, Path: metricsPath})
	}
}

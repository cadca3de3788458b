//go:build linux

package helper

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// status reports the agent's mark and verifies it: it requests the metrics of a running
// agent, or for TLS only connects; a node agent only finds that the JVM listens.
func status(ctx context.Context, req helperapi.Request, report *helperapi.Report) error {
	p, err := lookup(req)
	if err != nil {
		return err
	}
	process, _, err := observe(ctx, req, p)
	if err != nil {
		return err
	}
	report.Processes = []helperapi.Process{process}
	if err := foreignJar(process); err != nil {
		return err
	}
	if err := listPorts(req, p.PID, report); err != nil {
		return err
	}
	switch {
	case process.Mark == nil && process.AgentJarOpen:
		return helperapi.Errorf(helperapi.ReasonAgentNotAnswering, "The agent is in the JVM, but its mark cannot be read.")
	case process.Mark == nil || process.Mark.State != helperapi.AgentRunning:
		return nil
	case container(req).OnNode():
		return checkListening(p, process.Mark.Port)
	case !p.SharesNetwork():
		return nil
	default:
		return get(ctx, helperapi.Endpoint{Port: process.Mark.Port, Path: metricsPath, TLS: process.Mark.SecuritySHA256 != ""})
	}
}

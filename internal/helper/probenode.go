//go:build linux

package helper

import (
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// probeOnNode stands in for the request of a page: an agent of ours in the container, in the
// target if there is one, must report that it serves the port, and its JVM listen on it.
// Nothing else is known of what a container serves without entering its network namespace,
// which takes CAP_SYS_ADMIN.
func probeOnNode(ctx context.Context, req helperapi.Request) error {
	processes, err := probed(req)
	if err != nil {
		return err
	}
	for _, p := range processes {
		process, _, err := observe(ctx, req, p)
		if err != nil {
			return err
		}
		if m := process.Mark; m != nil && m.State == helperapi.AgentRunning && m.Port == req.Probe.Port {
			return checkListening(p, m.Port)
		}
	}
	return helperapi.Errorf(helperapi.ReasonEndpointNotServing, "No agent in the container reports that it serves port %d. The node agent requests no page: it does not reach the container's network.", req.Probe.Port)
}

// probed returns the processes that may serve the endpoint of a request.
func probed(req helperapi.Request) ([]jvm.Process, error) {
	if req.Target == nil {
		return processesOf(req)
	}
	p, err := lookup(req)
	return []jvm.Process{p}, err
}

// checkListening refuses a JVM that does not listen on the port which its agent reports.
func checkListening(p jvm.Process, port int32) error {
	ports, err := p.ListeningPorts()
	if err != nil {
		return err
	}
	if !slices.Contains(ports, port) {
		return helperapi.Errorf(helperapi.ReasonEndpointNotServing, "The agent reports that it serves port %d, and the JVM does not listen on it.", port)
	}
	return nil
}

//go:build linux

package helper

import (
	"context"
	"errors"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// listPorts reports the listening ports in the network namespace of a process, if
// requested.
func listPorts(req helperapi.Request, pid int, report *helperapi.Report) (err error) {
	if req.ListeningPorts {
		report.ListeningPorts, err = jvm.ListeningPorts(pid)
	}
	return err
}

// markTimeout is how long reading one JVM's mark may take.
const markTimeout = time.Second

// observe describes a process without changing anything in it, and returns its open
// files. What cannot be read of a process that may not be inspected is not an error: its
// refusal reports it.
func observe(ctx context.Context, req helperapi.Request, p jvm.Process) (process helperapi.Process, openFiles []string, err error) {
	process = describe(p)
	process.JavaOptions = javaOptions(req, p)
	if refusal := p.Refusal(); refusal != nil {
		process.Refusal = typed(refusal)
	}
	openFiles, err = p.OpenFiles()
	if err != nil {
		if process.Refusal != nil && isUnreadable(process.Refusal.Reason) {
			err = nil
		}
		return process, nil, err
	}
	if slices.ContainsFunc(openFiles, isAgentJar) {
		jars, err := trampolines(p)
		if typed, ok := errors.AsType[*helperapi.Error](err); ok {
			process.Refusal = typed
			return process, openFiles, nil
		}
		if err != nil {
			return process, openFiles, err
		}
		process.AgentJarOpen = len(jars) > 0
	}
	if process.Refusal != nil {
		return process, openFiles, nil
	}
	if process.AgentJarOpen && p.HasSocket() { // a mark without the jar is inherited
		ctx, cancel := context.WithTimeout(ctx, markTimeout)
		defer cancel()
		process.Mark, _ = readMark(ctx, p) // a missing mark proves nothing
	}
	process.Refusal, err = refusedTmp(req, p)
	return process, openFiles, err
}

// isUnreadable reports whether a JVM is refused because the helper cannot look into it.
func isUnreadable(reason helperapi.Reason) bool {
	return reason == helperapi.ReasonUserMismatch || reason == helperapi.ReasonProcessNotReadable
}

func describe(p jvm.Process) helperapi.Process {
	return helperapi.Process{
		Target:         helperapi.Target{PID: p.PIDIn(), StartTime: p.StartTime},
		UID:            p.UIDIn(),
		GID:            p.GIDIn(),
		Implementation: string(p.Implementation),
		Vendor:         helperapi.Bounded(p.Vendor),
		Version:        helperapi.Bounded(p.Version),
		MainClass:      helperapi.Bounded(p.MainClass),
		LoadWarns:      loadWarns(p),
		LoadDenied:     p.Flags.AgentLoading == jvm.Off,
		LoadAllowed:    p.Flags.AgentLoading == jvm.On,
	}
}

//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// inspect lists the Java processes. It reads a mark only if the attach socket already
// exists, so it never signals.
func inspect(ctx context.Context, req helperapi.Request, report *helperapi.Report) error {
	rules, err := compileRules(req.Rules)
	if err != nil {
		return err
	}
	found, err := jvm.Find()
	if err != nil {
		return err
	}
	var exporters []exporterIn
	for _, p := range found {
		// A container reports only its own processes: visible processes of other
		// containers, or of the whole node (hostPID), are reported by those containers.
		if outsideContainer(req, p) {
			continue
		}
		process, openFiles, err := observe(ctx, req, p)
		if err != nil && typed(err).Reason == helperapi.ReasonProcessGone {
			continue
		}
		if err != nil {
			return err
		}
		process.Excluded = excluded(p, rules)
		process.Memory = memoryOf(p)
		if foreignJar(process) == nil {
			process.Exporter = stockExporter(p, openFiles)
		}
		if process.Exporter != nil && !process.Excluded {
			exporters = append(exporters, exporterIn{p, process.Mark, process.Exporter})
		}
		report.Processes = append(report.Processes, process)
	}
	askExporters(ctx, exporters)
	network, err := memberOf(req)
	if err != nil {
		return err
	}
	if err := listPorts(req, network, report); err != nil {
		return err
	}
	dir, err := directoryOf(req, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		if reason := typed(err).Reason; reason == helperapi.ReasonTmpNotWritable || reason == helperapi.ReasonUserMismatch {
			return nil // each JVM's refusal reports it; without a JVM it does not matter
		}
		return err
	}
	defer dir.Close()
	for _, file := range req.Files {
		if checkFile(file) == nil && dir.has(file) {
			report.Files = append(report.Files, file)
		}
	}
	return nil
}

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
	if refusal := p.Refusal(); refusal != nil {
		process.Refusal = typed(refusal)
	}
	openFiles, err = p.OpenFiles()
	if err != nil {
		if process.Refusal != nil && process.Refusal.Reason == helperapi.ReasonUserMismatch {
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

func describe(p jvm.Process) helperapi.Process {
	return helperapi.Process{
		Target:         helperapi.Target{PID: p.PID, StartTime: p.StartTime},
		UID:            p.UID,
		GID:            p.GID,
		Implementation: string(p.Implementation),
		Vendor:         bounded(p.Vendor),
		Version:        bounded(p.Version),
		MainClass:      bounded(p.MainClass),
		LoadWarns:      loadWarns(p),
	}
}

// readMark reads our agent's mark. It returns nil if there is none, or none that is
// valid.
func readMark(ctx context.Context, p jvm.Process) (*helperapi.Mark, error) {
	value, found, err := p.Property(ctx, markProperty)
	if err != nil || !found {
		return nil, err
	}
	mark, err := parseMark(value)
	if err != nil {
		return nil, nil //nolint:nilerr // an invalid value is not our mark
	}
	return mark, nil
}

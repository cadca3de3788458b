//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// inspect lists the Java processes. It reads a mark only if the attach socket already
// exists, so it never signals.
func inspect(ctx context.Context, req helperapi.Request, report *helperapi.Report) error {
	rules, err := compileRules(req.Rules)
	if err != nil {
		return err
	}
	found, err := processesOf(req)
	if err != nil {
		return err
	}
	var exporters []exporterIn
	for _, p := range found {
		process, openFiles, err := observe(ctx, req, p)
		if err == nil {
			process.Excluded, err = excluded(p, rules)
		}
		if err != nil && typed(err).Reason == helperapi.ReasonProcessGone {
			continue
		}
		if err != nil {
			return err
		}
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
	if err != nil {
		reason := typed(err).Reason
		if errors.Is(err, fs.ErrNotExist) || reason == helperapi.ReasonTmpNotWritable || isUnreadable(reason) {
			return nil // each JVM's refusal reports it; without a JVM it does not matter
		}
		return err
	}
	defer dir.Close()
	for _, file := range req.Files {
		if directory.CheckFile(file) == nil && dir.Has(file) {
			report.Files = append(report.Files, file)
		}
	}
	return nil
}

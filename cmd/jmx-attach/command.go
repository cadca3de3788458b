//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// options are the flags of the command line.
type options struct {
	pid, port, headroom           int
	path, config, agent, exporter string
	output                        string
	allowSharedTmp                bool
}

// command performs one operation from the command line and returns the exit code.
func command(verb helperapi.Verb, args []string, stdout, stderr io.Writer) int {
	o, err := parse(verb, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err != nil {
		sayf(stderr, "jmx-attach %s: %v; see jmx-attach --help", verb, err)
		return 2
	}
	report, err := o.perform(verb, stderr)
	if err != nil {
		sayf(stderr, "jmx-attach %s: %v", verb, err)
		return 1
	}
	if o.output == "json" {
		return encode(stdout, report)
	}
	printReport(stdout, verb, report)
	if report.Error != nil {
		sayf(stderr, "jmx-attach %s: %s: %s", verb, report.Error.Reason, report.Error.Message)
	}
	return exitCode(report)
}

// exitCode is 1 if an operation failed, or an agent does not accept a configuration.
func exitCode(report helperapi.Report) int {
	if report.Error != nil || report.Judgement != nil && report.Judgement.Reason != "" {
		return 1
	}
	return 0
}

// encode writes a report as JSON and returns its exit code.
func encode(stdout io.Writer, report helperapi.Report) int {
	encoder := json.NewEncoder(stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(report); err != nil {
		return 1
	}
	return exitCode(report)
}

// parse parses the flags of a verb.
func parse(verb helperapi.Verb, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(string(verb), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.output, "o", "table", "")
	switch verb {
	case helperapi.VerbStage:
		return o, errors.New("load stages what it needs")
	case helperapi.VerbLoad:
		flags.IntVar(&o.port, "port", 0, "")
		flags.StringVar(&o.agent, "agent", "", "")
		flags.StringVar(&o.exporter, "exporter", "", "")
		fallthrough
	case helperapi.VerbCheck:
		flags.StringVar(&o.config, "config", "", "")
		flags.BoolVar(&o.allowSharedTmp, "allow-shared-tmp", false, "")
		flags.IntVar(&o.headroom, "memory-headroom", int(helperapi.DefaultMemoryHeadroom>>20), "")
	case helperapi.VerbInspect, helperapi.VerbStatus, helperapi.VerbUnload, helperapi.VerbServe, helperapi.VerbDoor, helperapi.VerbNode:
	case helperapi.VerbProbe:
		flags.IntVar(&o.port, "port", 0, "")
		flags.StringVar(&o.path, "path", "/metrics", "")
	}
	if verb == helperapi.VerbLoad || verb == helperapi.VerbCheck || verb == helperapi.VerbStatus || verb == helperapi.VerbUnload {
		flags.IntVar(&o.pid, "pid", 0, "")
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is too much", flags.Arg(0))
	}
	if o.output != "table" && o.output != "json" {
		return o, fmt.Errorf("-o takes json or table, not %q", o.output)
	}
	for _, needed := range []string{"pid", "port", "config"} {
		if needed == "port" && verb == helperapi.VerbLoad {
			continue // optional: a free port is selected
		}
		if f := flags.Lookup(needed); f != nil && (f.Value.String() == "0" || f.Value.String() == "") {
			return o, fmt.Errorf("--%s is missing", needed)
		}
	}
	return o, nil
}

// perform performs an operation with the requests that it requires.
func (o options) perform(verb helperapi.Verb, stderr io.Writer) (helperapi.Report, error) {
	h := helper.Helper{Version: version}
	req := helperapi.Request{
		Probe:          &helperapi.Endpoint{Port: int32(o.port), Path: o.path},
		AllowSharedTmp: o.allowSharedTmp,
		ListeningPorts: true,
		MemoryHeadroom: int64(o.headroom) << 20,
	}
	if o.pid != 0 {
		start, err := jvm.StartTime(o.pid)
		if err != nil {
			return helperapi.Report{}, err
		}
		req.Target = &helperapi.Target{PID: o.pid, StartTime: start}
	}
	var contents io.Reader
	var err error
	switch verb {
	case helperapi.VerbLoad:
		contents, err = o.files(&req)
	case helperapi.VerbCheck:
		contents, err = o.candidate(&req)
	default:
		return h.Do(context.Background(), verb, req, nil), nil
	}
	if err != nil {
		return helperapi.Report{}, err
	}
	report := h.Do(context.Background(), helperapi.VerbStage, req, contents)
	if report.Error == nil {
		report = awaitStart(func() helperapi.Report { return h.Do(context.Background(), verb, req, nil) }, stderr)
	}
	return report, nil
}

// candidate reads the configuration to judge and adds it to the request.
func (o options) candidate(req *helperapi.Request) (contents io.Reader, err error) {
	path := o.config
	if path == "-" {
		path = "/dev/stdin"
	}
	contents, err = read(req, source{path, "config-", ".yaml"})
	if err == nil {
		req.Candidate = &req.Files[0]
	}
	return contents, err
}

// files reads the files to load and adds them to the request.
func (o options) files(req *helperapi.Request) (contents io.Reader, err error) {
	if o.agent, err = jar(o.agent, "agent.jar"); err != nil {
		return nil, err
	}
	if o.exporter, err = jar(o.exporter, "exporter.jar"); err != nil {
		return nil, err
	}
	contents, err = read(req, source{o.agent, "agent-", ".jar"}, source{o.exporter, "exporter-", ".jar"}, source{o.config, "config-", ".yaml"})
	if err != nil {
		return nil, err
	}
	agent, exporter, config := req.Files[0], req.Files[1], req.Files[2]
	req.Desired = &helperapi.Desired{
		Agent: agent.Name, AgentSHA256: agent.SHA256,
		Implementation: exporter.Name, ImplementationSHA256: exporter.SHA256,
		Config: config.Name, ConfigSHA256: config.SHA256,
		Port: int32(o.port),
	}
	return contents, nil
}

// source is a file to stage, and the parts of its name there.
type source struct{ path, prefix, suffix string }

// read reads files and adds them to the request.
func read(req *helperapi.Request, sources ...source) (contents io.Reader, err error) {
	var all bytes.Buffer
	for _, f := range sources {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		all.Write(data)
		req.Files = append(req.Files, helperapi.NewFile(f.prefix, data, f.suffix))
	}
	return &all, nil
}

// jar returns the given path or, if it is empty, finds the named jar near this program.
func jar(given, name string) (string, error) {
	if given != "" {
		return given, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, dir := range []string{".", "agent"} {
		path := filepath.Join(filepath.Dir(self), dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s beside %s; name it (--agent, --exporter)", name, self)
}

//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func TestTable(t *testing.T) {
	mark := &helperapi.Mark{State: helperapi.AgentRunning, Agent: "1.0.0", Port: 9404}
	for name, test := range map[string]struct {
		process helperapi.Process
		want    string // attachable, agent and port
	}{
		"nothing there":      {helperapi.Process{}, "yes - -"},
		"refused":            {helperapi.Process{Refusal: &helperapi.Error{Reason: helperapi.ReasonUserMismatch}}, "UserMismatch - -"},
		"excluded":           {helperapi.Process{Excluded: true, Refusal: &helperapi.Error{Reason: helperapi.ReasonUserMismatch}}, "excluded - -"},
		"ours":               {helperapi.Process{Mark: mark, AgentJarOpen: true}, "yes running (1.0.0) 9404"},
		"ours, silent":       {helperapi.Process{AgentJarOpen: true}, "yes unknown -"},
		"stock":              {helperapi.Process{Exporter: &helperapi.Exporter{Port: 9405}}, "yes stock exporter 9405"},
		"stock, silent":      {helperapi.Process{Exporter: &helperapi.Exporter{}}, "yes stock exporter -"},
		"stock beside ours":  {helperapi.Process{Mark: mark, AgentJarOpen: true, Exporter: &helperapi.Exporter{Port: 9405}}, "yes running (1.0.0) 9404"},
		"stock beside ours?": {helperapi.Process{AgentJarOpen: true, Exporter: &helperapi.Exporter{Port: 9405}}, "yes unknown -"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			printReport(&out, helperapi.VerbInspect, helperapi.Report{Processes: []helperapi.Process{test.process}})
			row := strings.Fields(strings.Split(out.String(), "\n")[1])
			if diff := cmp.Diff(test.want, strings.Join(row[4:], " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The report states in messages what affects a load, and what an agent counts.
func TestSentences(t *testing.T) {
	const (
		memory   = "7: 212 MiB are free below the memory limit of 256 MiB."
		warns    = "7: A load makes the JVM write the four warning lines of JEP 451 to the application's standard error."
		reloads  = "7: Reloads of the configuration: 3, rejected: 1."
		left     = "Other JVMs of the container still have an agent."
		disabled = "7: Disabled."
	)
	process := func(change func(*helperapi.Process)) []helperapi.Process {
		p := helperapi.Process{Target: helperapi.Target{PID: 7}}
		change(&p)
		return []helperapi.Process{p}
	}
	limited := func(p *helperapi.Process) { p.Memory = &helperapi.Memory{Limit: 256 << 20, Free: 212<<20 + 1} }
	warning := func(p *helperapi.Process) { p.LoadWarns = true }
	counting := &helperapi.Mark{State: helperapi.AgentRunning, Reloads: new(int64(3)), ReloadFailures: new(int64(1))}
	for name, test := range map[string]struct {
		verb   helperapi.Verb
		report helperapi.Report
		want   []string
	}{
		"a limit":           {helperapi.VerbInspect, helperapi.Report{Processes: process(limited)}, []string{memory}},
		"no limit":          {helperapi.VerbInspect, helperapi.Report{Processes: process(func(*helperapi.Process) {})}, nil},
		"a load warns":      {helperapi.VerbInspect, helperapi.Report{Processes: process(warning)}, []string{warns}},
		"it has warned":     {helperapi.VerbStatus, helperapi.Report{Processes: process(warning)}, nil},
		"none is to load":   {helperapi.VerbInspect, helperapi.Report{Processes: process(func(p *helperapi.Process) { warning(p); p.AgentJarOpen = true })}, nil},
		"refused":           {helperapi.VerbInspect, helperapi.Report{Processes: process(func(p *helperapi.Process) { warning(p); p.Refusal = &helperapi.Error{Message: "Disabled."} })}, []string{disabled}},
		"counts of reloads": {helperapi.VerbStatus, helperapi.Report{Processes: process(func(p *helperapi.Process) { p.Mark = counting })}, []string{reloads}},
		"others are left":   {helperapi.VerbUnload, helperapi.Report{AgentsLeft: true, Processes: process(func(*helperapi.Process) {})}, []string{left}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			printReport(&out, test.verb, test.report)
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")[2:] // below the table
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Text from a process neither controls the terminal nor starts a row.
func TestReportIsPlain(t *testing.T) {
	const hostile = "x\x1b[2J\u009b2J\u202egnp\tyes\n1   0   forged"
	var out strings.Builder
	printReport(&out, helperapi.VerbInspect, helperapi.Report{Processes: []helperapi.Process{{
		Vendor: hostile, Version: hostile, Implementation: hostile, MainClass: hostile, Warning: hostile,
		Refusal: &helperapi.Error{Reason: hostile, Message: hostile},
		Mark:    &helperapi.Mark{State: hostile, Agent: hostile, Reason: hostile, Message: hostile},
	}}})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 5 { // header, row, refusal, mark and warning
		t.Errorf("there are %d lines: %q", len(lines), lines)
	}
	for _, line := range lines {
		if strings.ContainsFunc(line, terminal.Obeys) {
			t.Errorf("a terminal obeys %q", line)
		}
	}
}

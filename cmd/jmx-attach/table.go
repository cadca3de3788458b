//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// printReport writes a report for people: a table of the processes, then messages.
func printReport(w io.Writer, verb helperapi.Verb, report helperapi.Report) {
	if verb == helperapi.VerbInspect && len(report.Processes) == 0 {
		fmt.Fprintln(w, "No Java process is running here, or none that this user may see.")
	}
	if len(report.Processes) > 0 {
		rows := [][7]string{{"PID", "USER", "JAVA", "MAIN", "ATTACHABLE", "AGENT", "PORT"}}
		for _, p := range report.Processes {
			rows = append(rows, [...]string{fmt.Sprint(p.PID), fmt.Sprint(p.UID), cell(java(p)), cell(p.MainClass), cell(attachable(p)), cell(agent(p)), cell(port(p))})
		}
		printTable(w, rows)
	}
	for _, p := range report.Processes {
		if verb == helperapi.VerbInspect {
			printFound(w, p)
		}
		if p.Refusal != nil && report.Error == nil {
			sayf(w, "%d: %s", p.PID, p.Refusal.Message)
		}
		if p.Mark != nil && p.Mark.Message != "" {
			sayf(w, "%d: %s: %s", p.PID, p.Mark.Reason, p.Mark.Message)
		}
		if p.Mark != nil && p.Mark.Reloads != nil && p.Mark.ReloadFailures != nil {
			sayf(w, "%d: Reloads of the configuration: %d, rejected: %d.", p.PID, *p.Mark.Reloads, *p.Mark.ReloadFailures)
		}
		if p.Warning != "" {
			sayf(w, "%d: %s", p.PID, p.Warning)
		}
	}
	if report.Judgement != nil {
		printJudgement(w, *report.Judgement)
	}
	if report.AgentsLeft {
		fmt.Fprintln(w, "Other JVMs of the container still have an agent.")
	}
	if verb == helperapi.VerbInspect && len(report.ListeningPorts) > 0 {
		sayf(w, "Ports in use: %s", strings.Trim(fmt.Sprint(report.ListeningPorts), "[]"))
	}
	if verb == helperapi.VerbProbe && report.Error == nil {
		fmt.Fprintln(w, "It answers.")
	}
}

// printTable writes rows in columns. Package text/tabwriter would make the helper larger by
// 12 KB.
func printTable(w io.Writer, rows [][7]string) {
	var widths [7]int
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row[:6] {
			fmt.Fprintf(w, "%-*s   ", widths[i], cell)
		}
		fmt.Fprintln(w, row[6])
	}
}

// printJudgement writes whether an agent accepts a configuration, and what it found.
func printJudgement(w io.Writer, j helperapi.Judgement) {
	verdict := "accepted."
	if j.Reason != "" {
		verdict = "not accepted: " + string(j.Reason) + ": " + j.Message
	}
	sayf(w, "The configuration is %s", verdict)
	if j.Series != nil && j.MBeans != nil && j.Millis != nil {
		sayf(w, "A collection makes %d series of %d MBeans; the first one took %d ms.", *j.Series, *j.MBeans, *j.Millis)
	}
	if j.Skipped != nil {
		sayf(w, "It leaves out %d MBeans, attributes or samples, most of them of %s (%s).", j.Skipped.Count, j.Skipped.Domain, j.Skipped.Reason)
	}
}

// printFound writes the findings of an inspection that affect a load.
func printFound(w io.Writer, p helperapi.Process) {
	const mib = 1 << 20
	if p.Memory != nil {
		sayf(w, "%d: %d MiB are free below the memory limit of %d MiB.", p.PID, p.Memory.Free/mib, p.Memory.Limit/mib)
	}
	if p.LoadWarns && attachable(p) == "yes" && agent(p) == "-" {
		sayf(w, "%d: A load makes the JVM write the four warning lines of JEP 451 to the application's standard error.", p.PID)
	}
}

func java(p helperapi.Process) string {
	text := strings.TrimSpace(p.Vendor + " " + p.Version)
	if p.Implementation != "" && p.Implementation != "HotSpot" {
		text += " (" + p.Implementation + ")"
	}
	return text
}

func attachable(p helperapi.Process) string {
	if p.Excluded {
		return "excluded"
	}
	if p.Refusal != nil {
		return string(p.Refusal.Reason)
	}
	return "yes"
}

func agent(p helperapi.Process) string {
	switch {
	case p.Mark != nil && p.Mark.Agent != "":
		return fmt.Sprintf("%s (%s)", p.Mark.State, p.Mark.Agent)
	case p.Mark != nil:
		return string(p.Mark.State)
	case p.AgentJarOpen:
		return "unknown"
	case p.Exporter != nil:
		return "stock exporter"
	default:
		return "-"
	}
}

func port(p helperapi.Process) string {
	switch {
	case p.Mark != nil && p.Mark.Port != 0:
		return fmt.Sprint(p.Mark.Port)
	case p.Mark == nil && !p.AgentJarOpen && p.Exporter != nil && p.Exporter.Port != 0:
		return fmt.Sprint(p.Exporter.Port)
	default:
		return "-"
	}
}

// cell returns a text from a process as a table cell: it cannot start another column or
// row.
func cell(text string) string {
	if text == "" {
		return "-"
	}
	return terminal.Line(text)
}

// sayf writes a line that may contain text from processes, escaped for terminals.
func sayf(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, terminal.Line(fmt.Sprintf(format, args...)))
}

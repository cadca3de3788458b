package preflight

import (
	"fmt"
	"io"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
)

// Print writes a report.
func Print(w io.Writer, r *Report) {
	rows := [][]string{
		{"Exporter:", r.Namespace + "/" + r.Exporter},
		{"Attachable:", r.Attachable + " pods"},
	}
	if r.Pending > 0 {
		rows = append(rows, []string{"Not inspected yet:", fmt.Sprint(r.Pending)})
	}
	var transports []string
	for _, t := range r.Transports {
		transports = append(transports, fmt.Sprintf("%s %d", t.Transport, t.Count))
	}
	if len(transports) > 0 {
		rows = append(rows, []string{"Reached by:", strings.Join(transports, ", ")})
	}
	if m := r.Memory; m != nil {
		free := fmt.Sprintf("%d pods have no limit", m.Unlimited)
		if m.Minimum != nil {
			free = fmt.Sprintf("least %s, in pod %s; %s", m.Minimum, m.Pod, free)
		}
		rows = append(rows, []string{"Free memory:", free})
	}
	if r.LoadWarnings > 0 {
		rows = append(rows, []string{"Warning lines:", fmt.Sprintf("in %d of these pods, the load writes four lines to standard error (JEP 451)", r.LoadWarnings)})
	}
	if r.UpgradeWarnings > 0 {
		rows = append(rows, []string{"After upgrade:", fmt.Sprintf("%d of these pods warn or are refused with later versions of Java; spec.atNextStart covers %d", r.UpgradeWarnings, r.CoveredAtNextStart)})
	}
	output.Table(w, rows...)
	if len(r.Reasons) == 0 {
		return
	}
	fmt.Fprintln(w)
	table := [][]string{{"NOT ATTACHABLE", "PODS", "EXAMPLES", "MESSAGE"}}
	for _, reason := range r.Reasons {
		table = append(table, []string{reason.Reason, fmt.Sprint(reason.Count), strings.Join(reason.Pods, ", "), reason.Message})
	}
	output.Table(w, table...)
	if r.ReasonsOmitted > 0 {
		fmt.Fprintf(w, "and %d pods with other reasons\n", r.ReasonsOmitted)
	}
	fmt.Fprintln(w, "\nWhat to do about each:")
	for _, reason := range r.Reasons {
		fmt.Fprintln(w, r.Docs[reason.Reason])
	}
}

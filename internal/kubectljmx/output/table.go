package output

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// Table writes rows in columns. Cells come from a cluster, so they are shown as they are.
func Table(w io.Writer, rows ...[]string) {
	var aligned strings.Builder
	columns := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		shown := make([]string, len(row))
		for i, cell := range row {
			shown[i] = terminal.Line(cell)
		}
		fmt.Fprintln(columns, strings.Join(shown, "\t"))
	}
	columns.Flush()
	for line := range strings.Lines(aligned.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

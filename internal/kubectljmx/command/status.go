package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/fleet"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func (t *tool) status() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status [EXPORTER]",
		Short: "Show exporters, their pods and JVMs, and what to do next",
		Long: `Show exporters, their pods and JVMs as a tree: how far each one came (its phase),
why not further, the next step, and the section of the documentation about it.

A pod goes through the phases Discovered, JavaFound, Staged, Loaded, Exposed and
Annotated; Annotated is the last one.`,
		Example: `  kubectl jmx status                 # of the namespace
  kubectl jmx status payroll --watch # one exporter, again at each change
  kubectl jmx status -A -o json      # of all namespaces, for programs`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.completeOne(exporterNames),
	}
	t.addAll(c)
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show it again at each change, until interrupted")
	judge := func(args []string) error {
		if len(args) > 0 && t.all {
			return fmt.Errorf("-A shows the exporters of all namespaces, and %s is the name of one: omit one of them", args[0])
		}
		return nil
	}
	format := &output.Format{Names: true}
	return t.shows(c, format, judged(judge, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		if watch {
			return nil, t.watch(ctx, cl, format, name)
		}
		exporters, err := fleet.Status(ctx, cl, t.namespace(cl), name)
		if err != nil {
			return nil, err
		}
		if len(exporters) == 0 {
			fmt.Fprintln(t.ErrOut, t.noExporters(cl))
		}
		return statusOf(exporters), nil
	})))
}

func statusOf(exporters []fleet.Exporter) *output.View {
	view := &output.View{Value: exporters, Text: func(w io.Writer) { fleet.Print(w, exporters) }}
	for _, e := range exporters {
		view.Objects = append(view.Objects, typed(exporterKind, e.Name))
	}
	return view
}

func (t *tool) noExporters(cl *cluster.Cluster) string {
	if t.all {
		return "There is no PrometheusJmxExporter in this cluster. To see first which pods could be attached to: kubectl jmx preflight --help"
	}
	return fmt.Sprintf("There is no PrometheusJmxExporter in namespace %s; -A shows those of all namespaces.", cl.Namespace)
}

// eraseScreen moves a terminal's cursor to the top and erases what is shown.
const eraseScreen = "\x1b[H\x1b[2J"

func (t *tool) watch(ctx context.Context, cl *cluster.Cluster, format *output.Format, name string) error {
	before := ""
	err := fleet.Watch(ctx, cl, t.clock, t.namespace(cl), name, func(exporters []fleet.Exporter) error {
		var shown bytes.Buffer
		if err := format.Print(&shown, *statusOf(exporters)); err != nil {
			return err
		}
		if shown.String() == before {
			return nil
		}
		first := before == ""
		before = shown.String()
		switch {
		case !format.Text(): // a stream of documents
			if !first && format.YAML() {
				fmt.Fprintln(t.Out, "---")
			}
		case output.Terminal(t.Out):
			fmt.Fprint(t.Out, eraseScreen)
		case !first:
			fmt.Fprintf(t.Out, "\n%s\n", t.clock.Now().Format(time.TimeOnly))
		}
		_, err := t.Out.Write(shown.Bytes())
		return err
	}, func(err error) {
		fmt.Fprintln(t.ErrOut, terminal.Line(fmt.Sprintf("note: cannot watch, retrying: %v", err)))
	})
	if ctx.Err() == nil {
		return err
	}
	return nil // interrupted, as a watch is meant to end
}

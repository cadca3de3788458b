package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/describe"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
)

func (t *tool) why() *cobra.Command {
	return t.shows(&cobra.Command{
		Use:   "why POD",
		Short: "Describe one pod: why it is not ready, and what to do next",
		Long: `Describe one pod: its exporter, its conditions in order, each JVM, failed
attempts and when the next one is, the Events of the pod and its record, and what
to do next. For a pod without a record, why it has none.`,
		Example: `  kubectl jmx why payroll-0
  kubectl jmx why payroll-0 -o yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeOne(podNames),
	}, &output.Format{}, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		description, err := describe.Pod(ctx, cl, args[0])
		if err != nil {
			return nil, err
		}
		return &output.View{Value: description, Text: func(w io.Writer) { description.Print(w, t.clock.Now()) }}, nil
	}))
}

package command

import (
	"io"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/describe"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
)

func (t *tool) why() *cobra.Command {
	var format output.Format
	c := &cobra.Command{
		Use:   "why POD",
		Short: "Describe one pod: why it is not ready, and what to do next",
		Long: `Describe one pod: its exporter, its conditions in order, each JVM, failed
attempts and when the next one is, the Events of the pod and its record, and what
to do next. For a pod without a record, why it has none.`,
		Example: `  kubectl jmx why payroll-0
  kubectl jmx why payroll-0 -o yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeOne(podNames),
		RunE: func(c *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			cl, err := t.open()
			if err != nil {
				return err
			}
			description, err := describe.Pod(c.Context(), cl, args[0])
			if err != nil {
				return err
			}
			return format.Print(t.Out, description, func(w io.Writer) { description.Print(w, t.clock.Now()) })
		},
	}
	format.AddFlag(c)
	return c
}

package command

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cost"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
)

func (t *tool) top() *cobra.Command {
	var format output.Format
	var exporter string
	var secured credentials
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "top [POD]",
		Short: "Show what a scrape costs each JVM, and which rule costs most",
		Long: `Show what a scrape costs each JVM: CPU time, duration, heap allocated, series made,
MBeans read, and which rule costs most; with a pod, each rule. The most expensive
JVM comes first.

It scrapes each JVM once, through port-forwards, which costs these JVMs what a
scrape of Prometheus does.`,
		Example: `  kubectl jmx top                      # all pods of the namespace
  kubectl jmx top --exporter payroll   # those of one exporter
  kubectl jmx top payroll-0            # one pod, rule by rule`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.completeOne(recordedPods),
		RunE: func(c *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			cl, err := t.open()
			if err != nil {
				return err
			}
			records, err := cl.Attachments(c.Context(), t.namespace(cl))
			if err != nil {
				return err
			}
			var chosen []v1alpha1.JmxAttachment
			for _, r := range records.Items {
				if (exporter == "" || r.Spec.Exporter.Name == exporter) && (len(args) == 0 || r.Spec.Pod.Name == args[0]) {
					chosen = append(chosen, r)
				}
			}
			credentials, err := t.forAll(c.Context(), cl, chosen, &secured)
			if err != nil {
				return err
			}
			progress := output.NewProgress(t.ErrOut)
			progress.Say("scraping each JVM through a port-forward")
			costs := cost.Of(c.Context(), cl, chosen, credentials, timeout, func(done, all int) { progress.Update("scraped %d of %d JVMs", done, all) })
			progress.Done()
			if len(costs) == 0 {
				return errors.New("no JVM here serves metrics; kubectl jmx status says why")
			}
			cost.AddPatterns(c.Context(), cl, costs)
			return format.Print(t.Out, costs, func(w io.Writer) { cost.Print(w, costs, len(args) > 0) })
		},
	}
	format.AddFlag(c)
	t.addAll(c)
	c.Flags().StringVar(&exporter, "exporter", "", "only pods of this exporter")
	_ = c.RegisterFlagCompletionFunc("exporter", t.complete(exporterNames))
	secured.addFlags(c)
	addTimeout(c, &timeout)
	return c
}

// forAll returns the credentials for the endpoints of these records: of one exporter, because
// nobody else's pods are to get them.
func (t *tool) forAll(ctx context.Context, cl *cluster.Cluster, records []v1alpha1.JmxAttachment, secured *credentials) (endpoint.Credentials, error) {
	if len(records) == 0 {
		return endpoint.Credentials{}, nil
	}
	first := &records[0]
	for i := range records {
		if secured.given() && records[i].Spec.Exporter.UID != first.Spec.Exporter.UID {
			return endpoint.Credentials{}, errors.New("credentials are sent to the pods of one exporter only: choose it with --exporter, without -A")
		}
	}
	return secured.read(ctx, t, cl, first.Namespace, first.Spec.Exporter.Name)
}

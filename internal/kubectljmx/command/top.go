package command

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cost"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
)

func (t *tool) top() *cobra.Command {
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
	}
	t.addAll(c)
	c.Flags().StringVar(&exporter, "exporter", "", "only pods of this exporter")
	_ = c.RegisterFlagCompletionFunc("exporter", t.complete(exporterNames))
	secured.addFlags(c)
	addTimeout(c, &timeout)
	judge := func([]string) error { return secured.read(t.In) }
	return t.shows(c, &output.Format{Names: true}, judged(judge, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		chosen, err := t.choose(ctx, cl, exporter, args)
		if err != nil {
			return nil, err
		}
		credentials, err := t.forAll(ctx, cl, chosen, &secured)
		if err != nil {
			return nil, err
		}
		progress := output.NewProgress(t.ErrOut)
		progress.Say("scraping each JVM through a port-forward")
		costs := cost.Of(ctx, cl, chosen, credentials, timeout, len(args) > 0, func(done, all int) { progress.Update("scraped %d of %d JVMs", done, all) })
		progress.Done()
		if len(costs) == 0 {
			return nil, errors.New("no JVM here serves metrics; kubectl jmx status says why")
		}
		cost.AddRules(ctx, cl, costs)
		return costsOf(costs, len(args) > 0), nil
	})))
}

// choose returns the records of a pod, of an exporter, or all.
func (t *tool) choose(ctx context.Context, cl *cluster.Cluster, exporter string, pod []string) ([]v1alpha1.JmxAttachment, error) {
	records, err := cl.Attachments(ctx, t.namespace(cl))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(records.Items, func(r v1alpha1.JmxAttachment) bool {
		return exporter != "" && r.Spec.Exporter.Name != exporter || len(pod) > 0 && r.Spec.Pod.Name != pod[0]
	}), nil
}

// costsOf is the view of costs, with rules or without; its objects are the pods.
func costsOf(costs []cost.Cost, rules bool) *output.View {
	view := &output.View{Value: costs, Text: func(w io.Writer) { cost.Print(w, costs, rules) }}
	seen := map[types.NamespacedName]bool{}
	for _, c := range costs {
		if pod := (types.NamespacedName{Namespace: c.Namespace, Name: c.Pod}); !seen[pod] {
			seen[pod] = true
			view.Objects = append(view.Objects, typed(podKind, c.Pod))
		}
	}
	return view
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
	return secured.of(ctx, cl, first.Namespace, first.Spec.Exporter.Name)
}

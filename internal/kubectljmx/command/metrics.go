package command

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func (t *tool) metrics() *cobra.Command {
	var filter, jvm string
	var pattern *regexp.Regexp
	var secured credentials
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "metrics POD",
		Short: "Print the metrics of a JVM, as Prometheus gets them",
		Long: `Print the metrics of a JVM, as Prometheus gets them: one scrape, through a
port-forward, so no NetworkPolicy is in the way. It needs create on
pods/portforward.

An endpoint with TLS (spec.endpointSecurity) is identified by the certificate that
the operator recorded. If it needs a password, give it with --password-file: the
Secret has only its hash.`,
		Example: `  kubectl jmx metrics payroll-0
  kubectl jmx metrics payroll-0 --filter '^jvm_memory' --jvm app/12
  kubectl jmx metrics payroll-0 --password-file - <<<"$PASSWORD"`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeOne(recordedPods),
	}
	c.Flags().StringVar(&filter, "filter", "", "only metrics whose name matches this regular expression (RE2)")
	c.Flags().StringVar(&jvm, "jvm", "", "the JVM, as CONTAINER or CONTAINER/PID; by default the primary one")
	secured.addFlags(c)
	addTimeout(c, &timeout)
	judge := func([]string) (err error) {
		if pattern, err = regexp.Compile(filter); err != nil {
			return fmt.Errorf("--filter is not a regular expression (RE2): %w", err)
		}
		return secured.read(t.In)
	}
	return t.shows(c, &output.Format{}, judged(judge, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		record, err := cl.Attached(ctx, args[0])
		if err != nil {
			return nil, err
		}
		text, err := t.scrape(ctx, cl, record, jvm, &secured, timeout)
		if err != nil {
			return nil, err
		}
		text = endpoint.Filter(text, pattern)
		return &output.View{Value: endpoint.Families(text), Text: func(w io.Writer) { _, _ = io.WriteString(terminal.Writer(w), text) }}, nil
	})))
}

func (t *tool) scrape(ctx context.Context, cl *cluster.Cluster, record *v1alpha1.JmxAttachment, jvm string, secured *credentials, timeout time.Duration) (string, error) {
	target, err := endpoint.Choose(record, jvm)
	if err != nil {
		return "", err
	}
	if all := endpoint.Targets(record); jvm == "" && len(all) > 1 {
		var names []string
		for _, other := range all {
			names = append(names, other.Name())
		}
		fmt.Fprintf(terminal.Writer(t.ErrOut), "These are the metrics of JVM %s; --jvm takes one of %s.\n", target.Name(), strings.Join(names, ", "))
	}
	credentials, err := secured.of(ctx, cl, record.Namespace, record.Spec.Exporter.Name)
	if err != nil {
		return "", err
	}
	return endpoint.Metrics(ctx, cl, target, endpoint.Request{Credentials: credentials, Timeout: timeout, MaxBytes: endpoint.MaxResponse})
}

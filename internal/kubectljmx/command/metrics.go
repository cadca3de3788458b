package command

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func (t *tool) metrics() *cobra.Command {
	var filter, jvm string
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
		RunE: func(c *cobra.Command, args []string) error {
			pattern, err := regexp.Compile(filter)
			if err != nil {
				return fmt.Errorf("--filter is not a regular expression (RE2): %w", err)
			}
			cl, err := t.open()
			if err != nil {
				return err
			}
			record, err := cl.Attached(c.Context(), args[0])
			if err != nil {
				return err
			}
			text, err := t.scrape(c, cl, record, jvm, &secured, timeout)
			if err != nil {
				return err
			}
			_, err = io.WriteString(terminal.Writer(t.Out), endpoint.Filter(text, pattern))
			return err
		},
	}
	c.Flags().StringVar(&filter, "filter", "", "only metrics whose name matches this regular expression (RE2)")
	c.Flags().StringVar(&jvm, "jvm", "", "the JVM, as CONTAINER or CONTAINER/PID; by default the primary one")
	secured.addFlags(c)
	addTimeout(c, &timeout)
	return c
}

func (t *tool) scrape(c *cobra.Command, cl *cluster.Cluster, record *v1alpha1.JmxAttachment, jvm string, secured *credentials, timeout time.Duration) (string, error) {
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
	credentials, err := secured.read(c.Context(), t, cl, record.Namespace, record.Spec.Exporter.Name)
	if err != nil {
		return "", err
	}
	return endpoint.Metrics(c.Context(), cl, target, endpoint.Request{Credentials: credentials, Timeout: timeout, MaxBytes: endpoint.MaxResponse})
}

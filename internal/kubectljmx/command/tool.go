package command

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/judge"
)

// tool is what the commands share.
type tool struct {
	genericiooptions.IOStreams
	clock clock.Clock
	flags *genericclioptions.ConfigFlags
	dial  judge.Dial
	// all is the flag -A of the commands that have it.
	all bool
}

func (t *tool) open() (*cluster.Cluster, error) { return cluster.Open(t.flags) }

// addAll adds the flag -A.
func (t *tool) addAll(c *cobra.Command) {
	c.Flags().BoolVarP(&t.all, "all-namespaces", "A", false, "of all namespaces")
}

// namespace is the one to list; empty for all.
func (t *tool) namespace(c *cluster.Cluster) string {
	if t.all {
		return ""
	}
	return c.Namespace
}

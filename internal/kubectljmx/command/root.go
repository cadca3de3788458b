// Package command is the command line of kubectl jmx.
package command

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/judge"
	"banzaicloud.com/jmx-exporter-operator/internal/version"
)

// New returns the command.
func New(streams genericiooptions.IOStreams, clock clock.Clock) *cobra.Command {
	return NewWith(streams, clock, judge.Present)
}

// NewWith returns the command with another way into containers.
func NewWith(streams genericiooptions.IOStreams, clock clock.Clock, dial judge.Dial) *cobra.Command {
	t := &tool{IOStreams: streams, clock: clock, flags: genericclioptions.NewConfigFlags(true), dial: dial}
	root := &cobra.Command{
		Use:   "kubectl-jmx",
		Short: "See and steer the JMX exporter operator",
		Long: `See and steer the JMX exporter operator: which pods serve their MBeans to
Prometheus, why others do not, and what to do about it.

The plugin has the rights of your kubeconfig and no others. It writes only what
you may write with kubectl, and only in pause, resume, retry, detach and
preflight.`,
		Example: `  kubectl jmx status                 # exporters, their pods and JVMs
  kubectl jmx why payroll-0          # everything about a pod, and what to do next
  kubectl jmx metrics payroll-0      # what Prometheus gets of it
  kubectl jmx check -f config.yaml   # whether a configuration would be accepted`,
		Version:       version.Version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl jmx"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true // kubectl completes its plugins
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), globalFlags, kubectlFlags, 1))
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	t.flags.AddFlags(root.PersistentFlags())
	t.completeFlags(root)
	root.AddGroup(&cobra.Group{ID: see, Title: "See:"}, &cobra.Group{ID: change, Title: "Change:"})
	for _, c := range []*cobra.Command{t.status(), t.why(), t.metrics(), t.top(), t.check(), t.report()} {
		c.GroupID = see
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{t.preflight(), t.pause(), t.resume(), t.retry(), t.detach()} {
		c.GroupID = change
		root.AddCommand(c)
	}
	return root
}

// Groups of commands in the help.
const (
	see    = "see"
	change = "change"
)

// The flags of a kubeconfig are those of every command of kubectl, which lists them apart, too.
const (
	globalFlags = `

Global Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}`
	kubectlFlags = `

The flags of kubectl, such as -n and --context, are those of "kubectl options".`
)

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/steer"
)

// ofExporter returns a command that changes an exporter, and prints what do returns.
func (t *tool) ofExporter(c *cobra.Command, do func(context.Context, *cluster.Cluster, *v1alpha1.PrometheusJmxExporter) (string, error)) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.ValidArgsFunction = t.completeOne(exporterNames)
	return t.shows(c, &output.Format{Names: true}, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		exporter, err := cl.Exporter(ctx, args[0])
		if err != nil {
			return nil, err
		}
		done, err := do(ctx, cl, exporter)
		if err != nil {
			return nil, err
		}
		if caution := steer.Caution(exporter); caution != "" {
			fmt.Fprintln(t.ErrOut, "note:", caution)
		}
		return changed(cl, exporter, done)
	}))
}

func (t *tool) pause() *cobra.Command {
	return t.ofExporter(&cobra.Command{
		Use:   "pause EXPORTER",
		Short: "Pause the rollout of an exporter",
		Long: `Pause the rollout of an exporter (spec.suspend): the operator attaches to no further
pod, and applies no change of configuration or agent. Existing endpoints keep
serving.`,
		Example: `  kubectl jmx pause payroll`,
	}, func(ctx context.Context, cl *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter) (string, error) {
		if e.Spec.Suspend {
			return fmt.Sprintf("exporter %s is paused already", e.Name), nil
		}
		return fmt.Sprintf("exporter %s is paused; to resume: kubectl jmx resume -n %s %s", e.Name, e.Namespace, e.Name), steer.Pause(ctx, cl, e)
	})
}

func (t *tool) resume() *cobra.Command {
	return t.ofExporter(&cobra.Command{
		Use:   "resume EXPORTER",
		Short: "Resume a rollout that is paused or halted",
		Long: `Resume a rollout that was paused (spec.suspend), or that the operator halted because a
pod was harmed or rejected the configuration (status.halt), or paused because a
container exited soon after an attach (status.restarts). The rollout continues where it
was: attached pods stay as they are, and the pod that stopped it is retried first, unless
its container restarted less than ten minutes ago. Find the cause of a halt before you
resume: kubectl jmx status.

It needs the right to attach: create on pods/exec, or the verb attach on
prometheusjmxexporters.`,
		Example: `  kubectl jmx resume payroll`,
	}, func(ctx context.Context, cl *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter) (string, error) {
		halted, restarts := e.Status.Halt, e.Status.Restarts
		if halted == nil && restarts == nil && !e.Spec.Suspend {
			return fmt.Sprintf("exporter %s is neither paused nor halted", e.Name), nil
		}
		done := fmt.Sprintf("exporter %s is resumed", e.Name)
		switch {
		case halted != nil:
			done = fmt.Sprintf("exporter %s is resumed; it was halted: %s", e.Name, halted.Message)
		case restarts != nil && steer.Discards(e):
			done = fmt.Sprintf("exporter %s is resumed; exits in %d of its pods no longer count, the last one: %s", e.Name, len(restarts.Pods), restarts.Message)
		}
		return done, steer.Resume(ctx, cl, e, fmt.Sprint(t.clock.Now().UnixNano()))
	})
}

func (t *tool) retry() *cobra.Command {
	return t.shows(&cobra.Command{
		Use:   "retry POD",
		Short: "Have the operator try a pod again at once",
		Long: `Have the operator try a pod again at once, for example after you corrected why it was
refused. It deletes the pod's record, which the operator recreates from what it
observes: an agent that is in a JVM stays there, keeps its port, and is not loaded
a second time.`,
		Example:           `  kubectl jmx retry payroll-0`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeOne(recordedPods),
	}, &output.Format{Names: true}, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		record, err := cl.Attached(ctx, args[0])
		if err != nil {
			return nil, err
		}
		if err := steer.Retry(ctx, cl, record); err != nil {
			return nil, err
		}
		return changed(cl, record, fmt.Sprintf("the operator tries pod %s again; to see how: kubectl jmx why -n %s %s", args[0], record.Namespace, args[0]))
	}))
}

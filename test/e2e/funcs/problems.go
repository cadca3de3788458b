package funcs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Problem is a pod that an exporter is to tell of.
type Problem struct {
	Pod, Container, Reason string
	// Words are in the message.
	Words []string
	// Restarts is how often the container was restarted at least.
	Restarts int32
	// Log is its log as the status has it.
	Log string
}

// Problems waits until the exporter tells of exactly these pods, in this order:
// in its status, as Warning Events, and in the operator's metrics.
func Problems(namespace, exporter string, want ...Problem) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		if len(e.Status.ProblemPods) != len(want) || e.Status.ProblemPodsOmitted != 0 {
			return fmt.Errorf("problemPods are %+v, not %d", e.Status.ProblemPods, len(want))
		}
		measured, err := c.measured(ctx)
		if err != nil {
			return err
		}
		for i, w := range want {
			if err := w.is(e.Status.ProblemPods[i]); err != nil {
				return err
			}
			if measured.sum(fmt.Sprintf(`jmx_exporter_operator_problem_pods{reason=%q}`, w.Reason)) < 1 {
				return fmt.Errorf("the operator's metrics count no pod with %s", w.Reason)
			}
			if err := c.hasEvent(ctx, namespace, exporter, corev1.EventTypeWarning, w.Reason); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w Problem) is(have v1alpha1.ProblemPod) error {
	if have.Pod != w.Pod || have.UID == "" || have.Container != w.Container || have.Reason != w.Reason ||
		have.RestartCount < w.Restarts || w.Restarts == 0 && have.RestartCount != 0 {
		return fmt.Errorf("told is %+v, not %+v", have, w)
	}
	if err := says(w.Pod, have.Message, w.Words); err != nil {
		return err
	}
	// The log of an instance that has just begun may be short, that of the one
	// before it is not.
	if have.Log != w.Log && have.PreviousLog != w.Log || w.Log == "" && have.PreviousLog != "" {
		return fmt.Errorf("%s: the log is %q, before it %q, not %q", w.Pod, have.Log, have.PreviousLog, w.Log)
	}
	return nil
}

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/steer"
)

func (t *tool) detach() *cobra.Command {
	var yes, undo bool
	c := &cobra.Command{
		Use:   "detach POD",
		Short: "Detach from a pod, and exclude it from all exporters",
		Long: `Detach from a pod, and exclude it from all exporters: it sets the annotation
` + v1alpha1.AnnotationOptOut + ` on the pod. The operator withdraws the
pod's scrape annotations and endpoints, then stops its agents and removes their
files. The application keeps running. --undo removes the annotation, and the pod
is attached to again.

The annotation lasts as long as the pod; to exclude a workload's later pods, set it
in the workload's pod template. It needs patch on pods.`,
		Example: `  kubectl jmx detach payroll-0
  kubectl jmx detach payroll-0 --yes    # without the question
  kubectl jmx detach payroll-0 --undo`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeOne(recordedPods),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&undo, "undo", false, "remove the annotation, so that the pod is attached to again")
	return t.shows(c, &output.Format{Names: true}, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		pod := &corev1.Pod{}
		err := cl.Get(ctx, types.NamespacedName{Namespace: cl.Namespace, Name: args[0]}, pod)
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no pod %s in namespace %s", args[0], cl.Namespace)
		}
		if err != nil {
			return nil, cluster.Explain(err)
		}
		if !undo && !yes {
			if err := t.confirm(fmt.Sprintf("Stop the agents in pod %s of namespace %s, so that it serves no metrics? The application keeps running.", pod.Name, pod.Namespace)); err != nil {
				return nil, err
			}
		}
		if err := steer.OptOut(ctx, cl, pod, !undo); err != nil {
			return nil, err
		}
		done := fmt.Sprintf("the operator detaches from pod %s; to attach again: kubectl jmx detach --undo -n %s %s", pod.Name, pod.Namespace, pod.Name)
		if undo {
			done = fmt.Sprintf("pod %s is included again", pod.Name)
		}
		return changed(cl, pod, done)
	}))
}

var errDeclined = errors.New("nothing was changed")

// confirm asks for confirmation. Without a terminal, it returns an error that names --yes.
func (t *tool) confirm(question string) error {
	if !output.Terminal(t.In) {
		return fmt.Errorf("%s Confirm with --yes, since standard input is not a terminal", question)
	}
	fmt.Fprint(t.ErrOut, question+" [y/N] ")
	answer, _ := bufio.NewReader(t.In).ReadString('\n') // an interrupted answer is a refusal
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errDeclined
	}
	return nil
}

package funcs

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Doors waits until each application's pod has so many ephemeral containers of the
// operator, and the last one runs or has ended well.
func Doors(namespace string, n int, running bool) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{"app"}); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return fmt.Errorf("namespace %s has no pod", namespace)
		}
		for _, pod := range pods.Items {
			var doors []corev1.ContainerStatus
			for _, s := range pod.Status.EphemeralContainerStatuses {
				if transport.IsDoor(s.Name) {
					doors = append(doors, s)
				}
			}
			if len(doors) != n || len(pod.Spec.EphemeralContainers) != n {
				return fmt.Errorf("pod %s has %d ephemeral containers, want %d", pod.Name, len(doors), n)
			}
			for _, s := range doors {
				ended := s.State.Terminated
				if running != (s.State.Running != nil) || ended != nil && ended.ExitCode != 0 {
					return fmt.Errorf("pod %s: ephemeral container %s is %+v", pod.Name, s.Name, s.State)
				}
			}
		}
		return nil
	})
}

// JobComplete waits until a Job has completed.
func JobComplete(namespace, name string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		var job batchv1.Job
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job); err != nil {
			return err
		}
		for _, condition := range job.Status.Conditions {
			if condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the Job %s is %+v", name, job.Status)
	})
}

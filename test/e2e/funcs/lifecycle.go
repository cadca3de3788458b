package funcs

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// ContainerEnds ends the one container of the application, whose first process is such
// a command, and waits until the kubelet has started it again.
func ContainerEnds(namespace, first string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		before := c.theOne(ctx, t, namespace)
		if err := c.kill(ctx, before, first); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			var pod corev1.Pod
			if err := c.Get(ctx, client.ObjectKeyFromObject(before), &pod); err != nil {
				return err
			}
			if s := pod.Status.ContainerStatuses[0]; s.RestartCount != 1 || s.State.Running == nil {
				return fmt.Errorf("container %s was restarted %d times: %+v", s.Name, s.RestartCount, s.State)
			}
			return nil
		})
	})
}

// Follows waits until each record is about the container that runs now, and
// asserts that it was restarted so many times and no more.
func Follows(namespace string, times int32) features.Func {
	return attachmentsOf(namespace).untilEach(func(ctx context.Context, c *cluster, r *v1alpha1.JmxAttachment) error {
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
			return err
		}
		s := pod.Status.ContainerStatuses[0]
		if len(r.Status.Processes) == 0 || r.Status.Processes[0].ContainerID != s.ContainerID {
			return fmt.Errorf("%s: the record is not about container %s", pod.Name, s.ContainerID)
		}
		if s.RestartCount != times {
			return fmt.Errorf("%s: restarted %d times, not %d", pod.Name, s.RestartCount, times)
		}
		return nil
	})
}

// PodDeleted deletes one of the pods with a record, at once, and waits until the
// record is gone with it.
func PodDeleted(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		gone := attachmentsOf(namespace).all(ctx, t, c)[0]
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = namespace, gone.Spec.Pod.Name
		if err := c.remove(ctx, pod, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(&gone), &v1alpha1.JmxAttachment{})
			if err == nil {
				return fmt.Errorf("the record %s is still there", gone.Name)
			}
			return client.IgnoreNotFound(err)
		})
	})
}

// Restarted asserts how often the containers of the application were restarted,
// all of them together.
func Restarted(namespace string, times int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods := podsOf(namespace, label).all(ctx, t, c)
		var n int32
		for _, pod := range pods {
			n += restarts(pod)
		}
		if n != times {
			t.Fatalf("containers were restarted %d times, not %d", n, times)
		}
	})
}

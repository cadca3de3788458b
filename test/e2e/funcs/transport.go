package funcs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
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

// ReachedBy asserts that the operator reached each container that it inspected by one
// transport, and that exactly these pods have ephemeral containers of it.
func ReachedBy(namespace string, transports ...v1alpha1.Transport) features.Func {
	return attachmentsOf(namespace).untilEach(func(ctx context.Context, c *cluster, r *v1alpha1.JmxAttachment) error {
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
			return err
		}
		doors := false
		for _, inspected := range r.Status.Containers {
			by := reachedBy(r, inspected.Name)
			doors = doors || by == v1alpha1.TransportEphemeralContainer
			if !slices.Contains(transports, by) {
				return fmt.Errorf("container %s of %s is reached by %s, not %s", inspected.Name, pod.Name, by, transports)
			}
		}
		if doors != (len(pod.Spec.EphemeralContainers) > 0) {
			return fmt.Errorf("pod %s has %d ephemeral containers", pod.Name, len(pod.Spec.EphemeralContainers))
		}
		return nil
	})
}

// reachedBy is the transport by which a container was inspected.
func reachedBy(r *v1alpha1.JmxAttachment, container string) v1alpha1.Transport {
	for _, inspected := range r.Status.Containers {
		if inspected.Name == container {
			return cmp.Or(inspected.Transport, v1alpha1.TransportExec)
		}
	}
	return v1alpha1.TransportExec
}

// NoHelperInside asserts that the operator brought no helper into any container of the
// applications.
func NoHelperInside(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		all := attachmentsOf(namespace).all(ctx, t, c)
		left := answer(ctx, t, func(ctx context.Context) (*remains, error) { return c.remains(ctx, all) })
		if len(left.files) == 0 {
			t.Fatal("the observer sees no file of an agent")
		}
		for _, file := range left.files {
			if strings.Contains(file, " jmx-attach-") {
				t.Errorf("a helper is in a container: %s", file)
			}
		}
	})
}

// markFromDoor is what the agent in a process says of itself, by a session in the
// ephemeral container that runs beside it.
func (c *cluster) markFromDoor(ctx context.Context, r *v1alpha1.JmxAttachment, p *v1alpha1.JavaProcess) (*helperapi.Mark, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
		return nil, err
	}
	_, id, _ := strings.Cut(p.ContainerID, "://")
	call, err := json.Marshal(helperapi.Call{ID: 1, Verb: helperapi.VerbStatus, Request: helperapi.Request{
		ContainerID: id, Target: &helperapi.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)},
	}})
	if err != nil {
		return nil, err
	}
	for _, door := range pod.Spec.EphemeralContainers {
		if door.TargetContainerName != p.Container || !transport.IsDoor(door.Name) || !runs(&pod, door.Name) {
			continue
		}
		stdout, stderr, err := execAs(ctx, c.config, bytes.NewReader(append(call, '\n')), pod.Namespace, pod.Name, door.Name,
			helperapi.DoorProgram, string(helperapi.VerbServe), helperapi.ServeInDoor)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		var answer struct{ Report json.RawMessage }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", pod.Name, err, stdout)
		}
		return markIn(pod.Name, string(answer.Report), stderr)
	}
	return nil, fmt.Errorf("no ephemeral container of the operator runs beside container %s of pod %s", p.Container, pod.Name)
}

func runs(pod *corev1.Pod, ephemeralContainer string) bool {
	return slices.ContainsFunc(pod.Status.EphemeralContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == ephemeralContainer && s.State.Running != nil
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

package funcs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// NextStart waits until an exporter lists exactly one container for the next start, with this
// image, and skips one for a reason.
func NextStart(namespace, exporter, image, skipped string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		is := e.Status.AtNextStart
		if is == nil || len(is.Containers) != 1 || is.Containers[0].Image != image || len(is.Skipped) != 1 || is.Skipped[0].Reason != skipped {
			return fmt.Errorf("exporter %s: status.atNextStart is %+v, not %s and %s", exporter, is, image, skipped)
		}
		return nil
	})
}

// JavaOptions waits until the containers of the pods with a label, and with this annotation, have
// exactly this JDK_JAVA_OPTIONS in their spec; none if it is empty.
func JavaOptions(namespace, label, annotation, want string) features.Func {
	return podsOf(namespace, label).untilEach(func(_ context.Context, _ *cluster, pod *corev1.Pod) error {
		if pod.Annotations["example.com/template"] != annotation {
			return fmt.Errorf("pod %s is of an earlier template", pod.Name)
		}
		for _, container := range pod.Spec.Containers {
			i := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == v1alpha1.JavaOptionsVariable })
			if have := i >= 0; have != (want != "") || have && container.Env[i].Value != want {
				return fmt.Errorf("container %s of pod %s has the environment %v, not %q", container.Name, pod.Name, container.Env, want)
			}
		}
		return nil
	})
}

// Prints waits until the containers of the pods with a label have printed a text so many times.
func Prints(namespace, label, text string, times int) features.Func {
	return podsOf(namespace, label).untilEach(func(ctx context.Context, c *cluster, pod *corev1.Pod) error {
		for _, container := range pod.Spec.Containers {
			log, err := c.log(ctx, pod, container.Name)
			if err != nil {
				return err
			}
			if got := strings.Count(log, text); got != times {
				return fmt.Errorf("container %s of pod %s has printed %q %d times, not %d:\n%s", container.Name, pod.Name, text, got, times, log)
			}
		}
		return nil
	})
}

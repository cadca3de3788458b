package funcs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Serves asserts that each attachment's endpoint answers with these words in it.
func Serves(namespace string, words ...string) features.Func {
	return attachmentsOf(namespace).untilEach(func(ctx context.Context, c *cluster, r *v1alpha1.JmxAttachment) error {
		for _, p := range r.Status.Processes {
			if p.Endpoint == nil {
				return fmt.Errorf("%s: process %d of container %s has no endpoint", r.Spec.Pod.Name, p.PID, p.Container)
			}
			if err := c.serves(ctx, namespace, r.Spec.Pod.Name, p.Endpoint.Port, words); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *cluster) serves(ctx context.Context, namespace, pod string, port int32, words []string) error {
	page, err := c.get(ctx, namespace, pod, port, "/metrics")
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(page, w) })
	if len(missing) > 0 {
		return fmt.Errorf("%s does not serve %s on port %d:\n%s", pod, strings.Join(missing, ", "), port, page)
	}
	return nil
}

// ServesPods asserts that the pods with a label serve these words on a port.
func ServesPods(namespace, label string, port int32, words ...string) features.Func {
	return podsOf(namespace, label).untilEach(func(ctx context.Context, c *cluster, pod *corev1.Pod) error {
		return c.serves(ctx, namespace, pod.Name, port, words)
	})
}

// Closed asserts that nobody serves a port of the pods any more.
func Closed(namespace string, port int32) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		c.closed(ctx, t, namespace, pod.Name, port)
	})
}

// closed asserts that nobody serves a port of a pod, to which there is a way.
func (c *cluster) closed(ctx context.Context, t *testing.T, namespace, pod string, port int32) {
	t.Helper()
	page := answer(ctx, t, func(ctx context.Context) (string, error) {
		page, err := c.get(ctx, namespace, pod, port, "/metrics")
		if errors.Is(err, errNoWay) {
			return "", err
		}
		return page, nil
	})
	if page != "" {
		t.Errorf("pod %s still serves port %d:\n%s", pod, port, page)
	}
}

// Counts waits until a counter in the metrics of each endpoint has this value.
func Counts(namespace, counter string, want float64) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		counts, err := c.counts(ctx, namespace, counter)
		if err != nil {
			return err
		}
		for pod, n := range counts {
			if n != want {
				return fmt.Errorf("%s has %s %v, not %v", pod, counter, n, want)
			}
		}
		return nil
	})
}

// CountsInOne waits until a counter has counted in one pod, and is 0 in the others.
// What could not be told in time is tried again, and may have counted each time.
func CountsInOne(namespace, counter string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		counts, err := c.counts(ctx, namespace, counter)
		if err != nil {
			return err
		}
		counted := 0
		for _, n := range counts {
			if n > 0 {
				counted++
			}
		}
		if counted != 1 {
			return fmt.Errorf("%s is %v, not more than 0 in one pod only", counter, counts)
		}
		return nil
	})
}

func (c *cluster) counts(ctx context.Context, namespace, counter string) (map[string]float64, error) {
	all, err := attachmentsOf(namespace)(ctx, c)
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, r := range all {
		for _, p := range r.Status.Processes {
			if p.Endpoint == nil {
				return nil, fmt.Errorf("%s has no endpoint", r.Spec.Pod.Name)
			}
			page, err := c.get(ctx, namespace, r.Spec.Pod.Name, p.Endpoint.Port, "/metrics")
			if err != nil {
				return nil, err
			}
			found := false
			for line := range strings.Lines(page) {
				if value, ok := strings.CutPrefix(line, counter+" "); ok {
					n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
					if err != nil {
						return nil, err
					}
					counts[r.Spec.Pod.Name], found = n, true
				}
			}
			if !found {
				return nil, fmt.Errorf("%s does not serve %s", r.Spec.Pod.Name, counter)
			}
		}
	}
	return counts, nil
}

package funcs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Monitoring is a Prometheus of prometheus-operator, which scrapes JVMs in its namespace.
type Monitoring struct {
	namespace string
	// as it ran when it was remembered, and when it had loaded its configuration then.
	pod    corev1.Pod
	loaded float64
}

// MonitoringIn is the one of a namespace.
func MonitoringIn(namespace string) *Monitoring { return &Monitoring{namespace: namespace} }

// Remember waits until Prometheus and its config reloader run, and remembers them. It
// belongs into a Setup: if the feature fails, it logs what they wrote.
func (m *Monitoring) Remember() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(m.logs(context.WithoutCancel(ctx), c))
			}
		})
		eventually(ctx, t, func(ctx context.Context) error {
			pod, err := m.prometheus(ctx, c)
			if err != nil {
				return err
			}
			m.pod = *pod
			m.loaded, err = c.loadedConfiguration(ctx, *pod)
			return err
		})
	})
}

// logs are the last lines of prometheus-operator, Prometheus and the config reloader.
func (m *Monitoring) logs(ctx context.Context, c *cluster) string {
	var b strings.Builder
	for _, name := range []string{"prometheus-operator", "prometheus"} {
		pods, err := c.pods(ctx, m.namespace, operatorKey+"="+name)
		b.WriteString(said(err))
		for _, pod := range pods {
			for _, container := range pod.Spec.Containers {
				fmt.Fprintf(&b, "---- %s of pod %s\n%s", container.Name, pod.Name, c.tail(ctx, &pod, container.Name, 20))
			}
		}
	}
	return b.String()
}

// prometheus is its pod, when all containers are ready.
func (m *Monitoring) prometheus(ctx context.Context, c *cluster) (*corev1.Pod, error) {
	pods, err := c.pods(ctx, m.namespace, "app.kubernetes.io/name=prometheus")
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("%d pods are Prometheus, not one", len(pods))
	}
	for _, s := range pods[0].Status.ContainerStatuses {
		if !s.Ready {
			return nil, fmt.Errorf("container %s of pod %s is not ready: %+v", s.Name, pods[0].Name, s.State)
		}
	}
	if len(pods[0].Status.ContainerStatuses) < len(pods[0].Spec.Containers) {
		return nil, fmt.Errorf("pod %s has not started: %s", pods[0].Name, pods[0].Status.Phase)
	}
	return &pods[0], nil
}

// OnlyReloaded asserts that the Prometheus that was remembered has reloaded its
// configuration since, and that none of its containers was restarted for it.
func (m *Monitoring) OnlyReloaded() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var pod *corev1.Pod
		var loaded float64
		eventually(ctx, t, func(ctx context.Context) (err error) {
			if pod, err = m.prometheus(ctx, c); err == nil {
				loaded, err = c.loadedConfiguration(ctx, *pod)
			}
			return err
		})
		if n := restarts(*pod); pod.UID != m.pod.UID || n > 0 {
			t.Errorf("pod %s %s has %d restarts; the pod was %s", pod.Name, pod.UID, n, m.pod.UID)
		}
		if loaded <= m.loaded {
			t.Errorf("the last reload was at %f, and at %f before", loaded, m.loaded)
		}
		m.loaded = loaded
	})
}

// loadedConfiguration is when a Prometheus loaded its configuration; it is an error if it
// failed to load a later one.
func (c *cluster) loadedConfiguration(ctx context.Context, prometheus corev1.Pod) (float64, error) {
	page, err := c.get(ctx, prometheus.Namespace, prometheus.Name, prometheusPort, "/metrics")
	if err != nil {
		return 0, err
	}
	if !strings.Contains(page, "\nprometheus_config_last_reload_successful 1\n") {
		return 0, errors.New("the last reload was not successful")
	}
	_, rest, ok := strings.Cut(page, "\nprometheus_config_last_reload_success_timestamp_seconds ")
	if !ok {
		return 0, errors.New("the metrics do not say when the configuration was reloaded")
	}
	when, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(when, 64)
}

// Rules waits until Prometheus evaluates exactly these groups of rules.
func (m *Monitoring) Rules(groups ...string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		prometheus, err := m.prometheus(ctx, c)
		if err != nil {
			return err
		}
		var answer struct{ Groups []struct{ Name string } }
		if err := c.ask(ctx, *prometheus, "/api/v1/rules", &answer); err != nil {
			return err
		}
		var got []string
		for _, g := range answer.Groups {
			got = append(got, g.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(slices.Values(groups)), got); diff != "" {
			return fmt.Errorf("groups of rules (-want +got):\n%s", diff)
		}
		return nil
	})
}

package funcs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
)

// operatorPool is what Prometheus calls the targets of the operator's own monitor.
const operatorPool = "serviceMonitor/" + OperatorNamespace + "/" + operatorName + "/0"

// securedPool is the same of the monitor of endpoints with TLS.
func (m *Monitoring) securedPool() string { return "serviceMonitor/" + m.namespace + "/secured/0" }

// Way is how a Prometheus finds the JVMs without TLS.
type Way struct {
	Name string
	// Pool is what Prometheus calls the targets of its monitor.
	Pool string
	// JVMs are how many it finds, with those that have TLS.
	JVMs int
	// ByAnnotations is whether it finds only the JVM that a pod's annotations name.
	ByAnnotations bool
}

// Configured waits until prometheus-operator has written the jobs of a way, and of no other,
// into the Secret with the configuration. It also changes the pod, because a kubelet brings
// a changed Secret at once only to a pod that has changed, and to others within minutes.
func (m *Monitoring) Configured(way Way) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		configuration, err := m.configuration(ctx, c)
		if err != nil {
			return err
		}
		var jobs []string
		for line := range strings.Lines(configuration) {
			if job, ok := strings.CutPrefix(line, "- job_name: "); ok {
				jobs = append(jobs, strings.TrimSpace(job))
			}
		}
		slices.Sort(jobs)
		if diff := cmp.Diff(slices.Sorted(slices.Values([]string{way.Pool, m.securedPool(), operatorPool})), jobs); diff != "" {
			return fmt.Errorf("jobs (-want +got):\n%s", diff)
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e-way":%q}}}`, way.Name)
		return c.Patch(ctx, &corev1.Pod{ObjectMeta: m.pod.ObjectMeta}, client.RawPatch(types.MergePatchType, patch))
	})
}

// configuration is what prometheus-operator makes of the monitors.
func (m *Monitoring) configuration(ctx context.Context, c *cluster) (string, error) {
	var secret corev1.Secret
	if err := c.Get(ctx, client.ObjectKey{Namespace: m.namespace, Name: "prometheus-k8s"}, &secret); err != nil {
		return "", err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(secret.Data["prometheus.yaml.gz"]))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(unzipped)
	return string(text), err
}

// Targets waits until Prometheus has exactly one target for each JVM of its namespace,
// those with TLS by the monitor secured, and one for the operator: all of them up, with a
// sample above zero of each of these metrics of each JVM.
func (m *Monitoring) Targets(way Way, metrics ...string) features.Func {
	return m.targets(way, way.JVMs, metrics)
}

// NoTargets waits until Prometheus has no target but the operator, and no sample of a JVM.
func (m *Monitoring) NoTargets(way Way) features.Func { return m.targets(way, 0, nil) }

func (m *Monitoring) targets(way Way, jvms int, metrics []string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		prometheus, err := m.prometheus(ctx, c)
		if err != nil {
			return err
		}
		endpoints, err := m.endpoints(ctx, c, way)
		if err != nil {
			return err
		}
		if len(endpoints) != jvms {
			return fmt.Errorf("%d JVMs have endpoints, not %d: %v", len(endpoints), jvms, endpoints)
		}
		operator, err := c.operator(ctx)
		if err != nil {
			return err
		}
		want := slices.Sorted(maps.Values(endpoints))
		want = append(want, fmt.Sprintf("%s https://%s:8443%s", operatorPool, operator.Status.PodIP, probe.MetricsPath))
		if err := m.scraped(ctx, c, *prometheus, want); err != nil {
			return err
		}
		for _, metric := range append([]string{"up"}, metrics...) {
			if err := m.sampled(ctx, c, *prometheus, metric, endpoints); err != nil {
				return err
			}
		}
		return nil
	})
}

// endpoints are those of the JVMs that are served, as the targets that Prometheus has of
// them, by their addresses.
func (m *Monitoring) endpoints(ctx context.Context, c *cluster, way Way) (map[string]string, error) {
	records, err := c.attachments(ctx, m.namespace)
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	for _, r := range records {
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
			return nil, err
		}
		for _, p := range r.Status.Processes {
			switch e := p.Endpoint; {
			case e == nil:
				return nil, fmt.Errorf("%s: process %d of container %s has no endpoint", pod.Name, p.PID, p.Container)
			case e.TLS:
				targets[address(e)] = fmt.Sprintf("%s https://%s%s", m.securedPool(), address(e), probe.MetricsPath)
			case !way.ByAnnotations || pod.Annotations[v1alpha1.AnnotationPort] == strconv.Itoa(int(e.Port)):
				targets[address(e)] = fmt.Sprintf("%s http://%s%s", way.Pool, address(e), probe.MetricsPath)
			}
		}
	}
	return targets, nil
}

// scraped compares the targets of the namespace and of the operator with those wanted. The
// monitors select all namespaces: other features have targets, too.
func (m *Monitoring) scraped(ctx context.Context, c *cluster, prometheus corev1.Pod, want []string) error {
	all, err := c.activeTargets(ctx, prometheus)
	if err != nil {
		return err
	}
	var got []string
	for _, t := range all {
		if of := t.Labels["namespace"]; of != m.namespace && of != OperatorNamespace {
			continue
		}
		text := t.ScrapePool + " " + t.ScrapeURL
		if t.Health != "up" {
			text += " is " + t.Health + ": " + t.LastError
		}
		got = append(got, text)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("targets (-want +got):\n%s", diff)
	}
	return nil
}

// sampled reports whether these JVMs, and no other, have samples of a metric. What was
// sampled before the last reload does not count: Prometheus keeps the last samples of a
// monitor that is gone for five minutes.
func (m *Monitoring) sampled(ctx context.Context, c *cluster, prometheus corev1.Pod, metric string, endpoints map[string]string) error {
	loaded, err := c.loadedConfiguration(ctx, prometheus)
	if err != nil {
		return err
	}
	series := fmt.Sprintf("%s{job=%q, namespace=%q}", metric, "jmx", m.namespace)
	values, err := c.values(ctx, prometheus, fmt.Sprintf("max by (instance) (timestamp(%s) and %s > 0) > %f", series, series, loaded), "instance")
	if err != nil {
		return err
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(endpoints)), slices.Sorted(maps.Keys(values))); diff != "" {
		return fmt.Errorf("JVMs with %s (-want +got):\n%s", metric, diff)
	}
	return nil
}

func address(e *v1alpha1.Endpoint) string {
	return net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port)))
}

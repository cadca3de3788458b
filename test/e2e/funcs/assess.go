package funcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Exporter is the name of the exporter in config/samples.
const Exporter = "example-prom-jmx-exp"

// AllAnnotated waits until exactly so many pods are Annotated on a port, and
// everything says so: exporter, records, pods and EndpointSlices.
func AllAnnotated(namespace, exporter string, pods int, port int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			var e v1alpha1.PrometheusJmxExporter
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
				return err
			}
			records, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			return errors.Join(exporterReady(&e, pods, pods), c.annotated(ctx, &e, records, pods, port), c.published(ctx, &e, pods, port))
		})
	})
}

func exporterReady(e *v1alpha1.PrometheusJmxExporter, pods, endpoints int) error {
	want := fmt.Sprintf("%d/%d", pods, pods)
	switch {
	case e.Status.ObservedGeneration != e.Generation:
		return fmt.Errorf("exporter %s: the status is about generation %d, not %d", e.Name, e.Status.ObservedGeneration, e.Generation)
	case e.Status.Pods != want || e.Status.Phase != v1alpha1.PhaseAnnotated || e.Status.Refused != 0:
		return fmt.Errorf("exporter %s: %s with pods %s, %d refused; not Annotated with pods %s", e.Name, e.Status.Phase, e.Status.Pods, e.Status.Refused, want)
	case len(e.Status.MetricsEndpoints) != endpoints:
		return fmt.Errorf("exporter %s lists %d endpoints, not %d", e.Name, len(e.Status.MetricsEndpoints), endpoints)
	case !meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionReady),
		!meta.IsStatusConditionFalse(e.Status.Conditions, v1alpha1.ConditionReconciling),
		!meta.IsStatusConditionFalse(e.Status.Conditions, v1alpha1.ConditionStalled):
		return fmt.Errorf("exporter %s is not Ready and settled: %+v", e.Name, e.Status.Conditions)
	}
	return nil
}

func (c *cluster) annotated(ctx context.Context, e *v1alpha1.PrometheusJmxExporter, records []v1alpha1.JmxAttachment, pods int, port int32) error {
	mine := 0
	for _, r := range records {
		if r.Spec.Exporter.UID != e.UID {
			continue
		}
		mine++
		if r.Status.Phase != v1alpha1.PhaseAnnotated || r.Status.Reason != "" || r.Status.Processes[0].Port != port ||
			!meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("%s: %s %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason)
		}
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
			return err
		}
		for name, value := range map[string]string{
			steps.AnnotationScrape: "true", steps.AnnotationPort: strconv.Itoa(int(port)),
			steps.AnnotationPath: "/metrics", steps.AnnotationFlag: r.Name,
		} {
			if pod.Annotations[name] != value {
				return fmt.Errorf("pod %s has %s=%q, not %q", pod.Name, name, pod.Annotations[name], value)
			}
		}
	}
	if mine != pods {
		return fmt.Errorf("%d attachments are there, not %d", mine, pods)
	}
	return nil
}

// published tells whether exactly so many endpoints stand in the exporter's
// EndpointSlices, all on one port, behind its headless Service.
func (c *cluster) published(ctx context.Context, e *v1alpha1.PrometheusJmxExporter, pods int, port int32) error {
	var service corev1.Service
	if err := c.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Status.ServiceName}, &service); err != nil {
		return err
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone || len(service.Spec.Selector) > 0 || len(service.Annotations) > 0 {
		return fmt.Errorf("service %s is not headless, selects, or is annotated", service.Name)
	}
	var list discoveryv1.EndpointSliceList
	if err := c.List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}); err != nil {
		return err
	}
	found := map[string]bool{}
	for _, slice := range list.Items {
		if len(slice.Ports) != 1 || *slice.Ports[0].Port != port || *slice.Ports[0].Name != "metrics" {
			return fmt.Errorf("EndpointSlice %s has other ports than metrics %d: %+v", slice.Name, port, slice.Ports)
		}
		for _, endpoint := range slice.Endpoints {
			found[endpoint.TargetRef.Name] = true
		}
	}
	if len(found) != pods {
		return fmt.Errorf("the EndpointSlices hold %v, not %d pods", slices.Sorted(maps.Keys(found)), pods)
	}
	return nil
}

// Published waits until exactly so many endpoints stand in the EndpointSlices,
// whatever the phases are.
func Published(namespace, exporter string, pods int, port int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			var e v1alpha1.PrometheusJmxExporter
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
				return err
			}
			return c.published(ctx, &e, pods, port)
		})
	})
}

// ConditionWithReason waits until the condition of so many attachments, of all
// that there are, does not hold for a reason, says these words, and is told by a
// Warning Event. What needs a person stalls the exporter.
func ConditionWithReason(namespace string, attachments int, phase v1alpha1.Phase, reason string, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			records, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			if len(records) != attachments {
				return fmt.Errorf("%d attachments are there, not %d", len(records), attachments)
			}
			for i := range records {
				if err := c.refused(ctx, &records[i], phase, reason, words); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (c *cluster) refused(ctx context.Context, r *v1alpha1.JmxAttachment, phase v1alpha1.Phase, reason string, words []string) error {
	condition := meta.FindStatusCondition(r.Status.Conditions, string(phase))
	switch {
	case condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason:
		return fmt.Errorf("%s: %s %s: %s is %+v, not False %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason, phase, condition, reason)
	case r.Status.Reason != reason:
		return fmt.Errorf("%s: status.reason is %s, not %s", r.Spec.Pod.Name, r.Status.Reason, reason)
	case r.Status.Attempt == nil:
		return fmt.Errorf("%s: no attempt is recorded", r.Spec.Pod.Name)
	}
	for _, w := range words {
		if !strings.Contains(condition.Message, w) {
			return fmt.Errorf("%s: %q does not say %q", r.Spec.Pod.Name, condition.Message, w)
		}
	}
	if err := c.told(ctx, r.Namespace, r.Name, corev1.EventTypeWarning, reason); err != nil {
		return err
	}
	if !v1alpha1.NeedsPerson(reason) {
		return nil
	}
	var e v1alpha1.PrometheusJmxExporter
	if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Exporter.Name}, &e); err != nil {
		return err
	}
	stalled := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || !strings.Contains(stalled.Message, reason) || e.Status.Refused == 0 {
		return fmt.Errorf("exporter %s: %d refused, Stalled is %+v, which does not tell %s", e.Name, e.Status.Refused, stalled, reason)
	}
	return nil
}

// told tells whether an Event of this type and reason regards the object.
func (c *cluster) told(ctx context.Context, namespace, name, eventType, reason string) error {
	var list eventsv1.EventList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.Name == name && e.Type == eventType && e.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no %s Event %s regards %s", eventType, reason, name)
}

// Told waits for an Event that regards each pod of the application.
func Told(namespace, eventType, reason string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return errors.New("no pod is there")
			}
			for _, pod := range pods {
				if err := c.told(ctx, namespace, pod.Name, eventType, reason); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// ExporterCondition waits for a condition of an exporter that says these words.
func ExporterCondition(namespace, exporter, condition string, status metav1.ConditionStatus, reason string, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			var e v1alpha1.PrometheusJmxExporter
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
				return err
			}
			found := meta.FindStatusCondition(e.Status.Conditions, condition)
			if found == nil || found.Status != status || found.Reason != reason {
				return fmt.Errorf("exporter %s: %s is %+v, not %s %s", exporter, condition, found, status, reason)
			}
			for _, w := range words {
				if !strings.Contains(found.Message, w) {
					return fmt.Errorf("exporter %s: %q does not say %q", exporter, found.Message, w)
				}
			}
			return nil
		})
	})
}

// ExporterTold waits for an Event that regards the exporter.
func ExporterTold(namespace, exporter, eventType, reason string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error { return c.told(ctx, namespace, exporter, eventType, reason) })
	})
}

// Annotations waits until each pod of the application has exactly these
// annotations of prometheus.io and banzaicloud.com.
func Annotations(namespace string, want map[string]string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return errors.New("no pod is there")
			}
			for _, pod := range pods {
				have := map[string]string{}
				for name, value := range pod.Annotations {
					if strings.HasPrefix(name, "prometheus.io/") || strings.HasPrefix(name, "banzaicloud.com/") {
						have[name] = value
					}
				}
				if !maps.Equal(have, want) {
					return fmt.Errorf("pod %s has the annotations %v, not %v", pod.Name, have, want)
				}
			}
			return nil
		})
	})
}

// LoadedOnce asserts that the agent runs in each JVM that it was loaded into, of
// all attachments, and was loaded exactly once there, as the agent itself says.
func LoadedOnce(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		records, err := c.records(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			t.Fatal("there are no attachments")
		}
		for _, r := range records {
			loaded := 0
			for _, p := range r.Status.Processes {
				if !steps.Ours(&p) {
					continue
				}
				loaded++
				mark, err := c.mark(ctx, &r, &p)
				if err != nil {
					t.Fatal(err)
				}
				if mark.Loads != 1 || mark.State != attach.AgentRunning || mark.Port != p.Port {
					t.Errorf("%s, process %d of container %s: %+v; want one load, and the agent running on port %d",
						r.Spec.Pod.Name, p.PID, p.Container, mark, p.Port)
				}
			}
			if loaded == 0 {
				t.Errorf("%s: nothing was loaded: %+v", r.Spec.Pod.Name, r.Status)
			}
		}
	})
}

// mark is what the agent in a process says of itself, as the helper in the
// container reads it.
func (c *cluster) mark(ctx context.Context, r *v1alpha1.JmxAttachment, p *v1alpha1.JavaProcess) (*attach.Mark, error) {
	output, err := c.exec(ctx, r.Namespace, r.Spec.Pod.Name, p.Container,
		"sh", "-c", `for helper in `+attach.Home+`/jmx-attach-*; do exec "$helper" status --pid "$1" -o json; done`, "status", strconv.Itoa(int(p.PID)))
	if err != nil {
		return nil, err
	}
	var report attach.Report
	if err := json.Unmarshal([]byte(output), &report); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", r.Spec.Pod.Name, err, output)
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return nil, fmt.Errorf("%s: the agent's mark is not there: %s", r.Spec.Pod.Name, output)
	}
	return report.Processes[0].Mark, nil
}

// Serves asserts that each attachment's endpoint answers with these words in it.
func Serves(namespace string, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			records, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			for _, r := range records {
				for _, p := range r.Status.Processes {
					if err := c.serves(ctx, &r, &p, words); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

func (c *cluster) serves(ctx context.Context, r *v1alpha1.JmxAttachment, p *v1alpha1.JavaProcess, words []string) error {
	if p.Endpoint == nil {
		return fmt.Errorf("%s: process %d of container %s has no endpoint", r.Spec.Pod.Name, p.PID, p.Container)
	}
	page, err := c.get(ctx, r.Namespace, r.Spec.Pod.Name, p.Endpoint.Port, "/metrics")
	if err != nil {
		return err
	}
	for _, w := range words {
		if !strings.Contains(page, w) {
			return fmt.Errorf("%s does not serve %s on port %d:\n%s", r.Spec.Pod.Name, w, p.Endpoint.Port, page)
		}
	}
	return nil
}

// Gone waits until the exporter has left nothing in the namespace: no record,
// Service or EndpointSlice.
func Gone(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		ours := client.HasLabels{v1alpha1.LabelExporterUID}
		eventually(ctx, t, func(ctx context.Context) error {
			for _, list := range []client.ObjectList{&v1alpha1.JmxAttachmentList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}} {
				if err := c.List(ctx, list, client.InNamespace(namespace), ours); err != nil {
					return err
				}
				if n := meta.LenList(list); n > 0 {
					return fmt.Errorf("%T: %d are left", list, n)
				}
			}
			return nil
		})
	})
}

func (c *cluster) records(ctx context.Context, namespace string) ([]v1alpha1.JmxAttachment, error) {
	var list v1alpha1.JmxAttachmentList
	err := c.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// Annotated asserts an annotation of the pods with a label.
func Annotated(namespace, label, name, value string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := c.pods(ctx, namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		if len(pods) == 0 {
			t.Fatalf("no pod has %s", label)
		}
		for _, pod := range pods {
			if pod.Annotations[name] != value {
				t.Errorf("pod %s has %s=%q, not %q", pod.Name, name, pod.Annotations[name], value)
			}
		}
	})
}

// Scrapable asserts that the pods carry our annotations, whatever the phases are.
func Scrapable(namespace string, port int32) features.Func {
	return All(
		Annotated(namespace, label, steps.AnnotationScrape, "true"),
		Annotated(namespace, label, steps.AnnotationPort, strconv.Itoa(int(port))),
		Annotated(namespace, label, steps.AnnotationPath, steps.MetricsPath),
	)
}

// Closed asserts that nobody serves a port of the pods any more.
func Closed(namespace string, port int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := c.pods(ctx, namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods {
			if page, err := c.get(ctx, namespace, pod.Name, port, "/metrics"); err == nil {
				t.Errorf("pod %s still serves port %d:\n%s", pod.Name, port, page)
			}
		}
	})
}

package funcs

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
)

// Annotations waits until each pod of the application has exactly these
// annotations of prometheus.io and banzaicloud.com.
func Annotations(namespace string, want map[string]string) features.Func {
	return annotations(namespace, want, func(name string) bool {
		return strings.HasPrefix(name, "prometheus.io/") || strings.HasPrefix(name, "banzaicloud.com/")
	})
}

// ScrapeAnnotations waits until each pod of the application has exactly these annotations of
// prometheus.io.
func ScrapeAnnotations(namespace string, want map[string]string) features.Func {
	return annotations(namespace, want, func(name string) bool { return strings.HasPrefix(name, "prometheus.io/") })
}

// AnnotationsOnly waits until each pod of the application has exactly these
// annotations, but for those of the cluster itself.
func AnnotationsOnly(namespace string, want map[string]string) features.Func {
	return annotations(namespace, want, func(name string) bool { return !strings.Contains(name, "kubernetes.io/") })
}

// annotations waits until each pod of the application has exactly these of the
// annotations that count.
func annotations(namespace string, want map[string]string, counts func(name string) bool) features.Func {
	return podsOf(namespace, label).untilEach(func(_ context.Context, _ *cluster, pod *corev1.Pod) error {
		have := maps.Clone(pod.Annotations)
		maps.DeleteFunc(have, func(name, _ string) bool { return !counts(name) })
		if !maps.Equal(have, want) {
			return fmt.Errorf("pod %s has the annotations %v, not %v", pod.Name, have, want)
		}
		return nil
	})
}

// Annotated asserts an annotation of the pods with a label.
func Annotated(namespace, label, name, value string) features.Func {
	return podsOf(namespace, label).each(func(_ context.Context, t *testing.T, _ *cluster, pod *corev1.Pod) {
		t.Helper()
		if pod.Annotations[name] != value {
			t.Errorf("pod %s has %s=%q, not %q", pod.Name, name, pod.Annotations[name], value)
		}
	})
}

// Scrapable asserts that the pods carry our annotations, whatever the phases are.
func Scrapable(namespace string, port int32) features.Func {
	return All(
		Annotated(namespace, label, v1alpha1.AnnotationScrape, "true"),
		Annotated(namespace, label, v1alpha1.AnnotationPort, strconv.Itoa(int(port))),
		Annotated(namespace, label, v1alpha1.AnnotationPath, probe.MetricsPath),
	)
}

// AnnotatedAs has another field manager state annotations of each pod of the
// application, whoever has stated them before.
func AnnotatedAs(manager, namespace string, annotations map[string]string) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			stated := corev1ac.Pod(pod.Name, namespace).WithUID(pod.UID).WithAnnotations(annotations)
			return c.Client.Apply(ctx, stated, client.FieldOwner(manager), client.ForceOwnership)
		})
	})
}

// PatchPods merges a change into each pod of the application, as a field manager.
func PatchPods(namespace, manager, change string) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			return c.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(change)), client.FieldOwner(manager))
		})
	})
}

// Annotation follows an annotation of the pods of a namespace.
type Annotation struct {
	namespace, name string

	mu sync.Mutex
	// without are the resourceVersions of pods that did not have it.
	without []string
	last    map[types.UID]string
}

// AnnotationOf follows an annotation.
func AnnotationOf(namespace, name string) *Annotation {
	return &Annotation{namespace: namespace, name: name, last: map[types.UID]string{}}
}

// Begin follows it from now on, to the end of the feature: it belongs into a Setup.
func (a *Annotation) Begin() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		c.follow(ctx, t, a.namespace, &corev1.PodList{}, func(object kruntime.Object) {
			if pod, ok := object.(*corev1.Pod); ok {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.last[pod.UID] = pod.ResourceVersion
				if pod.Annotations[a.name] == "" {
					a.without = append(a.without, pod.Name+" at "+pod.ResourceVersion)
				}
			}
		})
	})
}

// Kept asserts that it was on all pods all the while, in whatever the API server
// has stored of them.
func (a *Annotation) Kept() features.Func {
	return All(
		podsOf(a.namespace, label).untilEach(func(_ context.Context, _ *cluster, pod *corev1.Pod) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.last[pod.UID] != pod.ResourceVersion {
				return fmt.Errorf("what was seen of pod %s has not come to resourceVersion %s", pod.Name, pod.ResourceVersion)
			}
			return nil
		}),
		verb(func(_ context.Context, t *testing.T, _ *cluster) {
			t.Helper()
			a.mu.Lock()
			defer a.mu.Unlock()
			if len(a.without) > 0 {
				t.Errorf("%s was not there: %v", a.name, a.without)
			}
		}),
	)
}

// scrapedOn reports whether a pod carries the annotations by which it is scraped on
// a port, as its record says.
func scrapedOn(pod *corev1.Pod, r *v1alpha1.JmxAttachment, port int32) error {
	for name, value := range map[string]string{
		v1alpha1.AnnotationScrape: "true", v1alpha1.AnnotationPort: strconv.Itoa(int(port)),
		v1alpha1.AnnotationPath: probe.MetricsPath, v1alpha1.AnnotationFlag: r.Name,
	} {
		if pod.Annotations[name] != value {
			return fmt.Errorf("pod %s has %s=%q, not %q", pod.Name, name, pod.Annotations[name], value)
		}
	}
	return nil
}

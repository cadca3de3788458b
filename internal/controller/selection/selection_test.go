package selection

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

func runningPod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.UID, pod.Labels = "app-0", "pod-uid", map[string]string{"app": "x", "tier": "y"}
	pod.Status.Phase = corev1.PodRunning
	if change != nil {
		change(pod)
	}
	return pod
}

func anExporter(name string, age int, uid types.UID, labels map[string]v1alpha1.LabelValue) v1alpha1.PrometheusJmxExporter {
	e := v1alpha1.PrometheusJmxExporter{}
	e.Name, e.UID = name, uid
	e.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 60-age, 0, time.UTC))
	e.Spec.LabelSelector = labels
	return e
}

func TestMatched(t *testing.T) {
	now := metav1.Now()
	cases := map[string]struct {
		labels map[string]v1alpha1.LabelValue
		pod    func(*corev1.Pod)
		want   bool
	}{
		"one label matches":       {labels: map[string]v1alpha1.LabelValue{"app": "x"}, want: true},
		"both labels match":       {labels: map[string]v1alpha1.LabelValue{"app": "x", "tier": "y"}, want: true},
		"the value differs":       {labels: map[string]v1alpha1.LabelValue{"app": "z"}},
		"one label is missing":    {labels: map[string]v1alpha1.LabelValue{"app": "x", "more": "y"}},
		"the selector is empty":   {},
		"the pod is pending":      {labels: map[string]v1alpha1.LabelValue{"app": "x"}, pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }},
		"the pod opted out":       {labels: map[string]v1alpha1.LabelValue{"app": "x"}, pod: func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "true"} }},
		"the pod did not opt out": {labels: map[string]v1alpha1.LabelValue{"app": "x"}, pod: func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "false"} }, want: true},
		"the pod is terminating":  {labels: map[string]v1alpha1.LabelValue{"app": "x"}, pod: func(p *corev1.Pod) { p.DeletionTimestamp = &now }},
	}
	for name, tc := range cases {
		e := anExporter("e", 0, "u", tc.labels)
		if got := Matched(&e, runningPod(tc.pod)); got != tc.want {
			t.Errorf("%s: Matched: got %t, want %t", name, got, tc.want)
		}
	}
}

func TestOwner(t *testing.T) {
	app := map[string]v1alpha1.LabelValue{"app": "x"}
	now := metav1.Now()
	deleted := anExporter("deleted", 9, "a", app)
	deleted.DeletionTimestamp = &now
	preflight := func(name string, age int) v1alpha1.PrometheusJmxExporter {
		e := anExporter(name, age, types.UID(name), app)
		e.Spec.Mode = v1alpha1.ModePreflight
		return e
	}
	cases := map[string]struct {
		exporters []v1alpha1.PrometheusJmxExporter
		want      string
	}{
		"there is no exporter":                                  {},
		"there is one exporter":                                 {[]v1alpha1.PrometheusJmxExporter{anExporter("a", 1, "u", app)}, "a"},
		"the older exporter owns the pod":                       {[]v1alpha1.PrometheusJmxExporter{anExporter("a", 1, "a", app), anExporter("b", 2, "b", app)}, "b"},
		"of two of the same second, the lower UID owns the pod": {[]v1alpha1.PrometheusJmxExporter{anExporter("a", 1, "b", app), anExporter("b", 1, "a", app)}, "b"},
		"a deleted exporter does not own the pod":               {[]v1alpha1.PrometheusJmxExporter{deleted, anExporter("b", 1, "b", app)}, "b"},
		"an attaching exporter comes before a preflight":        {[]v1alpha1.PrometheusJmxExporter{preflight("a", 9), anExporter("b", 1, "b", app), preflight("c", 8)}, "b"},
		"a preflight owns the pod if there is no other":         {[]v1alpha1.PrometheusJmxExporter{deleted, preflight("a", 9)}, "a"},
		"the older preflight owns the pod":                      {[]v1alpha1.PrometheusJmxExporter{preflight("a", 1), preflight("b", 2)}, "b"},
		"an exporter with other labels does not own the pod":    {[]v1alpha1.PrometheusJmxExporter{anExporter("a", 9, "a", map[string]v1alpha1.LabelValue{"app": "z"}), anExporter("b", 1, "b", app)}, "b"},
	}
	for name, tc := range cases {
		got := ""
		if owner := Owner(tc.exporters, runningPod(nil)); owner != nil {
			got = owner.Name
		}
		if got != tc.want {
			t.Errorf("%s: owner: got %q, want %q", name, got, tc.want)
		}
	}
}

// Names are always valid, and differ if UIDs do.
func TestNames(t *testing.T) {
	for _, name := range []string{"a", "app-0", "a.b.c", "9lives", strings.Repeat("x", 253), strings.Repeat("x", 45) + "-" + strings.Repeat("y", 60), strings.Repeat("a.", 100) + "a"} {
		e := anExporter(name, 0, "uid-1", nil)
		service := ServiceName(&e)
		if problems := validation.IsDNS1035Label(service); len(problems) > 0 {
			t.Errorf("Service name of %q is invalid: %q: %v", name, service, problems)
		}
		record := AttachmentName(runningPod(func(p *corev1.Pod) { p.Name = name }))
		if problems := validation.IsDNS1123Subdomain(record); len(problems) > 0 {
			t.Errorf("record name of %q is invalid: %q: %v", name, record, problems)
		}
		e.UID = "uid-2"
		if ServiceName(&e) == service || AttachmentName(runningPod(func(p *corev1.Pod) { p.Name, p.UID = name, "other" })) == record {
			t.Errorf("names of %q do not differ with the UID", name)
		}
	}
}

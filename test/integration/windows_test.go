package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A Windows pod is refused, and nothing is ever executed in it: neither for
// the first inspection, nor when its exporter is deleted.
func TestWindowsPod(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 1, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the first pod is attached", isAnnotated)
	f.o.containers.Called()
	windows := aPod("app-windows")
	windows.pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
	pod := f.run(windows)
	f.pods = append(f.pods, pod)
	f.expect("the pods are inspected", isAnnotated, "Discovered UnsupportedOS")
	if a := f.attachment(pod); a.Spec.Revision == "" {
		t.Errorf("revision granted to %s, which is ready: got none", pod.Name)
	}
	remove(t, f.attachment(pod))
	f.o.settle()
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "other"}
	})
	f.o.outlast()
	if a := f.attachment(pod); a != nil {
		t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
	}
	for _, verb := range f.containers.Called() {
		if verb != "unload" { // of the other pod
			t.Errorf("helper operation %s was run, want unload only", verb)
		}
	}
}

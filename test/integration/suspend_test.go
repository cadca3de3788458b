package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// While suspended, existing endpoints stay until their JVMs exit, and nothing new is done.
func TestSuspend(t *testing.T) {
	t.Parallel()
	suspend := func(f *fleet, is bool) {
		change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = is })
	}
	const isSuspended = "JavaFound Suspended"
	f := aFleet(t, 2, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	suspend(f, true)
	f.configure(changed)
	f.pods = append(f.pods, f.run(aPod("app-9")))
	f.expect("the exporter is suspended", isAnnotated, isAnnotated, isSuspended)
	f.expectSums("the exporter is suspended", "0/2/3, Ready False Suspended, Stalled False Reconciled")
	f.expectAsked("the exporter is suspended", "1 1 0")
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	f.restart(f.pods[0])
	f.expect("a container restarts", isSuspended, isAnnotated, isSuspended)
	if got, want := f.endpoints(f.exporter), "app-1 "+f.pods[1].Status.PodIP+":9400"; got != want {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, want)
	}
	if left := f.annotations(f.pods[0]); len(left) > 0 {
		t.Errorf("annotations of %s, whose JVM exited: got %v, want none", f.pods[0].Name, left)
	}
	f.o.did()
	f.later(24 * time.Hour)
	if f.o.settle(); f.o.count() > 0 {
		t.Errorf("effects while suspended: got %q, want none", f.o.did())
	}

	change(t, f.pods[1], func(pod *corev1.Pod) { pod.Labels["app"] = "other" })
	f.o.settle()
	if j := f.jvm(f.pods[1]); j.Unloads != 1 || f.attachment(f.pods[1]) != nil {
		t.Error("a deselected pod is not detached while suspended")
	}
	f.pods = []*corev1.Pod{f.pods[0], f.pods[2]}

	suspend(f, false)
	f.expect("the exporter is resumed", isAnnotated, isPending)
	f.later(5 * time.Second)
	f.expect("the rollout is complete", isAnnotated, isAnnotated)
}

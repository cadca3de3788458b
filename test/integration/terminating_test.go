package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The endpoint of a terminating pod stays published as long as its containers run, with the
// conditions that Kubernetes gives it: a broker that drains for minutes is still scraped.
// Nothing is executed in the pod, and it no longer counts.
func TestTerminatingPod(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, withWorker(), nil)
	change(t, s.pod, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/wait"} })
	remove(t, s.pod)
	o.settle()
	terminating := func(ready, serving bool) discoveryv1.EndpointConditions {
		return discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: new(true)}
	}
	published := func(what string, want ...discoveryv1.EndpointConditions) {
		t.Helper()
		var got []discoveryv1.EndpointConditions
		for _, slice := range s.slices(s.exporter) {
			for _, endpoint := range slice.Endpoints {
				got = append(got, endpoint.Conditions)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: conditions of endpoints (-want +got):\n%s", what, diff)
		}
	}
	published("the pod terminates", terminating(false, true), terminating(false, true))

	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	})
	o.settle()
	published("one of its containers has ended", terminating(false, true))
	if a := s.attachment(s.pod); phaseOf(a) != isAnnotated {
		t.Errorf("the record of the terminating pod is %s, want %s", phaseOf(a), isAnnotated)
	}
	if s.annotations(s.pod)["prometheus.io/port"] != "9400" {
		t.Errorf("the annotations of the terminating pod were withdrawn: %v", s.annotations(s.pod))
	}
	if get(t, s.exporter); s.exporter.Status.Matched != 0 || len(s.exporter.Status.MetricsEndpoints) != 0 || s.exporter.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("the exporter counts the terminating pod: %+v", s.exporter.Status)
	}

	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		for i := range status.Conditions {
			status.Conditions[i].Status = corev1.ConditionFalse
		}
	})
	o.settle()
	published("the pod is no longer ready", terminating(false, false))

	s.changeStatus(s.pod, func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
	o.settle()
	published("its containers have ended")
	if got := s.verbs(); got != "" {
		t.Errorf("helper operations: got %q, want none", got)
	}

	change(t, s.pod, func(pod *corev1.Pod) { pod.Finalizers = nil })
	o.settle()
	if a := s.attachment(s.pod); a != nil {
		t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
	}
}

// A terminating pod that leaves its exporter is forgotten at once.
func TestTerminatingPodWithoutExporter(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*story){
		"the exporter is deleted": func(s *story) { remove(s.t, s.exporter); s.garbageCollect() },
		"the label is removed": func(s *story) {
			change(s.t, s.pod, func(pod *corev1.Pod) { delete(pod.Labels, "app") })
		},
		"another exporter inherits nothing": func(s *story) {
			remove(s.t, s.exporter)
			s.garbageCollect()
			create(s.t, s.anExporter("another"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, aPod("app-0"), nil)
			change(t, s.pod, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/wait"} })
			remove(t, s.pod)
			o.settle()
			leave(s)
			o.settle()
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
			}
			if got := s.endpoints(s.exporter); got != "" {
				t.Errorf("endpoints of the exporter: got %q, want none", got)
			}
			if got := s.verbs(); got != "" {
				t.Errorf("helper operations: got %q, want none", got)
			}
		})
	}
}

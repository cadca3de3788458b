package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A pod in which nothing was loaded is detached: the helper is removed.
func TestDetachedUntouched(t *testing.T) {
	s, o := longRunning(t, aPod("app-0"), func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true })
	if got := phaseOf(s.attachment(s.pod)); got != "JavaFound Suspended" {
		t.Fatalf("it is %s", got)
	}
	s.verbs()
	remove(t, s.exporter)
	s.garbageCollect()
	o.settle()
	if got := s.verbs(); got != "unload" || s.attachment(s.pod) != nil {
		t.Errorf("run was %q; the record is %v", got, s.attachment(s.pod))
	}
}

// What is not unloaded: a JVM whose container ended, or whose pod goes, and one
// that was never attached to.
func TestNothingToUnload(t *testing.T) {
	cases := map[string]func(*story, *operator){
		"its container ended": func(s *story, _ *operator) {
			s.changeStatus(s.pod, func(status *corev1.PodStatus) {
				status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
			})
			remove(s.t, s.exporter)
		},
		"its pod is terminating": func(s *story, _ *operator) {
			change(s.t, s.pod, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/wait"} })
			remove(s.t, s.pod)
		},
		"its pod is gone, the record is not": func(s *story, _ *operator) { remove(s.t, s.pod) },
	}
	for name, leave := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, aPod("app-0"), nil)
			leave(s, o)
			o.settle()
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("the record is left: %+v", a.Status)
			}
			if got := s.verbs(); got != "" {
				t.Errorf("run was %s", got)
			}
			for _, reason := range []string{"Detached", "AgentLeft"} {
				if events := o.events.with(reason); len(events) > 0 {
					t.Errorf("of Events there are %v", events)
				}
			}
		})
	}
}

// The helper that looked into a container goes, too, where no agent was loaded.
func TestHelperIsRemoved(t *testing.T) {
	cases := map[string]func(*jvm){
		"refused": func(j *jvm) {
			j.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Off."}
		},
		"adopted": func(j *jvm) { j.Exporter = &helperapi.Exporter{Port: 9999} },
	}
	for name, how := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := aPod("app-0")
			how(pod.jvms["app"][0])
			s, o := longRunning(t, pod, nil)
			s.verbs()
			remove(t, s.exporter)
			s.garbageCollect()
			o.settle()
			if got := s.verbs(); got != "unload" || s.attachment(s.pod) != nil {
				t.Errorf("run was %q, and the record is %v", got, s.attachment(s.pod))
			}
			for _, reason := range []string{"Detached", "AgentLeft"} {
				if events := o.events.with(reason); len(events) > 0 {
					t.Errorf("of Events there are %v", events)
				}
			}
		})
	}
}

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A pod without an agent is detached: the helper is removed.
func TestDetachedUntouched(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true })
	if got := phaseOf(s.attachment(s.pod)); got != "JavaFound Suspended" {
		t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "JavaFound Suspended")
	}
	s.verbs()
	remove(t, s.exporter)
	s.garbageCollect()
	o.settle()
	if got := s.verbs(); got != "unload" || s.attachment(s.pod) != nil {
		t.Errorf("got helper operations %q and JmxAttachment %v, want an unload and none", got, s.attachment(s.pod))
	}
}

// A JVM is not unloaded if its container ended, its pod is deleted, or it was never
// attached to.
func TestNothingToUnload(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*story, *operator){
		"the container ended": func(s *story, _ *operator) {
			s.changeStatus(s.pod, func(status *corev1.PodStatus) {
				status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
			})
			remove(s.t, s.exporter)
		},
		"the pod is deleted before its JmxAttachment": func(s *story, _ *operator) { remove(s.t, s.pod) },
	}
	for name, leave := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, aPod("app-0"), nil)
			leave(s, o)
			o.settle()
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
			}
			if got := s.verbs(); got != "" {
				t.Errorf("helper operations: got %q, want %q", got, "")
			}
			for _, reason := range []string{"Detached", "AgentLeft"} {
				if events := o.events.with(reason); len(events) > 0 {
					t.Errorf("%s Events: got %v, want none", reason, events)
				}
			}
		})
	}
}

// The helper is removed, too, from containers that were inspected without a load.
func TestHelperIsRemoved(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*jvm){
		"the JVM is refused": func(j *jvm) {
			j.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Off."}
		},
		"the stock exporter is adopted": func(j *jvm) { j.Exporter = &helperapi.Exporter{Port: 9999} },
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
				t.Errorf("got helper operations %q and JmxAttachment %v, want an unload and none", got, s.attachment(s.pod))
			}
			for _, reason := range []string{"Detached", "AgentLeft"} {
				if events := o.events.with(reason); len(events) > 0 {
					t.Errorf("%s Events: got %v, want none", reason, events)
				}
			}
		})
	}
}

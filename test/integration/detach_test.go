package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Every cause of a detach, and what remains: only foreign annotations. The agent is stopped.
func TestTakenOut(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*story){
		"the exporter is deleted": func(s *story) {
			remove(s.t, s.exporter)
			s.garbageCollect() // agents serve until their endpoints are removed
		},
		"the label is removed": func(s *story) {
			change(s.t, s.pod, func(pod *corev1.Pod) { delete(pod.Labels, "app") })
		},
		"the selector changes": func(s *story) {
			change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "other"}
			})
		},
		"the pod opts out": func(s *story) {
			change(s.t, s.pod, func(pod *corev1.Pod) { pod.Annotations["banzaicloud.com/jmx-exporter-opt-out"] = "true" })
		},
		"the pod terminates": func(s *story) {
			s.changeStatus(s.pod, func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
		},
	}
	for name, leave := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := annotated(t)
			change(t, s.pod, func(pod *corev1.Pod) { pod.Annotations["example.com/owner"] = "team-a" })
			o.settle()
			leave(s)
			o.settle()
			s.garbageCollect()
			want := map[string]string{"example.com/owner": "team-a"}
			if name == "the pod opts out" {
				want["banzaicloud.com/jmx-exporter-opt-out"] = "true"
			}
			if diff := cmp.Diff(want, s.annotations(s.pod)); diff != "" {
				t.Errorf("annotations of app-0 (-want +got):\n%s", diff)
			}
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
			}
			if got := s.slices(s.exporter); len(got) > 0 {
				t.Errorf("EndpointSlices still exist: %v", got)
			}
			if j := s.jvm(s.pod); j.Unloads != 1 || j.Running() {
				t.Errorf("the agent: got %d unloads and state %s, want one unload", j.Unloads, j.Mark.State)
			}
			if events := o.events.with("Detached"); len(events) != 1 || events[0].Type != corev1.EventTypeNormal ||
				!strings.Contains(events[0].Note, "the agent in process 7 of container app (port 9400) is stopped") {
				t.Errorf("unexpected Events: %v", events)
			}
			if get(t, s.exporter) && s.exporter.Status.Phase != v1alpha1.PhasePending {
				t.Errorf("the exporter still counts the pod: %+v", s.exporter.Status)
			}
		})
	}
}

// A JmxAttachment without processes, such as one that was recreated: agents are searched
// for before it is deleted.
func TestTakenOutUnknown(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, withWorker(), nil)
	remove(t, s.attachment(s.pod))
	if _, err := o.exporters.Reconcile(t.Context(), requestFor(s.exporter)); err != nil {
		t.Fatal(err)
	}
	if a := s.attachment(s.pod); a == nil || len(a.Status.Containers) != 0 {
		t.Fatalf("the JmxAttachment is missing, or lists containers: %+v", a)
	}
	remove(t, s.exporter)
	s.garbageCollect()
	worker := s.containers.Get(s.pod.UID, "worker")
	worker.Fault = fault(v1alpha1.ReasonExecFailed)
	if _, err := o.round(); err != nil {
		t.Fatal(err)
	}
	if s.attachment(s.pod) == nil || s.jvm(s.pod).Unloads != 1 {
		t.Error("the agent in app was not stopped, or the JmxAttachment was deleted before worker was inspected")
	}
	worker.Fault = nil
	o.outlast()
	if a := s.attachment(s.pod); a != nil || s.jvm(s.pod).Unloads != 1 || worker.JVMs[0].Unloads != 1 {
		t.Errorf("the pod is not detached: %+v", a)
	}
	if left := s.annotations(s.pod); len(left) > 0 {
		t.Errorf("annotations of %s: got %v, want none", s.pod.Name, left)
	}
}

// The order of a detach: the annotations, then the endpoints, then the agents, which serve
// until the endpoints are removed, or a timeout expires.
func TestOrderOfTakingOut(t *testing.T) {
	t.Parallel()
	optOut := func(s *story) {
		change(s.t, s.pod, func(pod *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "banzaicloud.com/jmx-exporter-opt-out", "true")
		})
	}
	begun := func(t *testing.T) (*story, *operator) {
		s, o := longRunning(t, withWorker(), nil)
		optOut(s)
		s.verbs()
		for range 3 {
			if _, again := s.check(o); again != time.Second {
				t.Errorf("next reconciliation: got %s, want 1s", again)
			}
			s.later(time.Second)
		}
		if left := s.annotations(s.pod); len(left) != 1 {
			t.Errorf("annotations of app-0: got %v, want one", left)
		}
		if got := s.verbs(); got != "" || strings.Count(s.endpoints(s.exporter), "app-0") != 2 {
			t.Errorf("got helper operations %q and endpoints %q, want none and two", got, s.endpoints(s.exporter))
		}
		return s, o
	}
	t.Run("the endpoints are removed", func(t *testing.T) {
		t.Parallel()
		s, o := begun(t)
		if _, err := o.round(); err != nil { // the exporter's turn is first
			t.Fatal(err)
		}
		if got := s.verbs(); got != "unload unload" || s.endpoints(s.exporter) != "" {
			t.Errorf("got helper operations %q and endpoints %q, want two unloads and none", got, s.endpoints(s.exporter))
		}
	})
	t.Run("the endpoints are not removed in time", func(t *testing.T) {
		t.Parallel()
		s, o := begun(t)
		s.later(2 * time.Second)
		s.check(o)
		if got := s.verbs(); got != "unload unload" || s.attachment(s.pod) != nil {
			t.Errorf("helper operations: got %q, want %q, and no JmxAttachment", got, "unload unload")
		}
	})
}

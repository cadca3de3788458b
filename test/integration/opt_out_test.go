package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A pod that opts out is detached, and stays so; a pod that opts in again, even
// while it is being detached, is inspected again.
func TestOptOut(t *testing.T) {
	t.Parallel()
	const optOut = "banzaicloud.com/jmx-exporter-opt-out"
	says := func(s *story, value string) {
		change(s.t, s.pod, func(pod *corev1.Pod) {
			if delete(pod.Annotations, optOut); value != "" {
				pod.Annotations[optOut] = value
			}
		})
	}
	s, o := longRunning(t, aPod("app-0"), nil)
	says(s, "false")
	if o.settle(); o.count() > 0 {
		t.Errorf("effects of an opt-out of false: got %q, want none", o.did())
	}
	says(s, "true")
	o.settle()
	s.garbageCollect()
	if diff := cmp.Diff(map[string]string{optOut: "true"}, s.annotations(s.pod)); diff != "" {
		t.Errorf("annotations of app-0 (-want +got):\n%s", diff)
	}
	if a, j := s.attachment(s.pod), s.jvm(s.pod); a != nil || j.Unloads != 1 || s.endpoints(s.exporter) != "" {
		t.Errorf("the pod is not detached: %v", a)
	}
	if get(t, s.exporter); s.exporter.Status.Matched != 0 {
		t.Errorf("the exporter still counts the pod: %+v", s.exporter.Status)
	}
	says(s, "")
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != "Annotated" || s.jvm(s.pod).Loads != 1 {
		t.Errorf("after opting in again: got phase %q and %d loads, want Annotated and one", got, s.jvm(s.pod).Loads)
	}

	s.prove(o)
	s.jvm(s.pod).Stays = fault(v1alpha1.ReasonAttachTimeout)
	says(s, "true")
	_, _ = o.round()
	_, _ = o.round()
	if a := s.attachment(s.pod); a == nil || a.Status.DetachStartTime == nil {
		t.Fatalf("the pod is not detaching: %v", a)
	}
	says(s, "")
	s.verbs()
	o.settle()
	a := s.attachment(s.pod)
	if got := phaseOf(a); got != "Annotated" || a.Status.DetachStartTime != nil || a.Status.Attempt != nil {
		t.Errorf("after opting in again: got phase %q and status %+v, want Annotated", got, a.Status)
	}
	if got := s.verbs(); got != "inspect inspect load" {
		t.Errorf("helper operations: got %q, want %q", got, "inspect inspect load")
	}
	if got, want := s.endpoints(s.exporter), fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP); got != want {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, want)
	}
}

// A pod that is selected again while it is detaching still records that agents may be
// loaded, in case it is deselected before it was inspected.
func TestComesBackMidway(t *testing.T) {
	t.Parallel()
	const optOut = "banzaicloud.com/jmx-exporter-opt-out"
	s, o := longRunning(t, aPod("app-0"), nil)
	s.jvm(s.pod).Stays = fault(v1alpha1.ReasonAttachTimeout)
	change(t, s.pod, func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, optOut, "true") })
	_, _ = o.round()
	if a := s.attachment(s.pod); a == nil || a.Status.Reason != v1alpha1.ReasonDetaching {
		t.Fatalf("the pod is not detaching: %+v", a)
	}
	change(t, s.pod, func(pod *corev1.Pod) { delete(pod.Annotations, optOut) })
	s.containers.Fail(helperapi.VerbInspect, v1alpha1.ReasonExecFailed)
	s.later(time.Second)
	_, _ = o.round()
	a := s.attachment(s.pod)
	if a == nil || a.Status.DetachStartTime != nil || phaseOf(a) != "Discovered ExecFailed" || len(a.Status.Processes) != 1 {
		t.Fatalf("the pod is not attached again: %+v", a)
	}
	if p := a.Status.Processes[0]; p.Intent == nil || p.Endpoint != nil || p.Port != 0 || p.Staged != nil {
		t.Errorf("the process lost its intent, or has more: %+v", p)
	}
	s.containers.Mend()
	s.jvm(s.pod).Stays = nil
	change(t, s.pod, func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, optOut, "true") })
	s.verbs()
	o.outlast()
	if a := s.attachment(s.pod); a != nil || s.jvm(s.pod).Unloads != 1 {
		t.Errorf("the pod is not detached: %+v", a)
	}
	if got := s.verbs(); got != "inspect unload" {
		t.Errorf("helper operations: got %q, want %q", got, "inspect unload")
	}
	if events := o.events.with("Detached"); len(events) != 1 || !strings.Contains(events[0].Note, "the agent in process 7 of container app (port 9400) is stopped") {
		t.Errorf("Detached Events: got %v, want one with the expected note", events)
	}
}

// Pods that are selected again while they are detaching need slots like new ones: a selector that
// was wrong for a moment must not attach to a whole fleet at once.
func TestComeBackInTurns(t *testing.T) {
	t.Parallel()
	const optOut = "banzaicloud.com/jmx-exporter-opt-out"
	f := aFleet(t, 3, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode, r.Canary.Count = 1, 1, new(int32(0))
	})
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	for _, pod := range f.pods {
		f.jvm(pod).Stays = fault(v1alpha1.ReasonAttachTimeout)
		change(t, pod, func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, optOut, "true") })
	}
	_, _ = f.o.round()
	for _, pod := range f.pods {
		if a := f.attachment(pod); a == nil || a.Status.DetachStartTime == nil {
			t.Fatalf("%s is not detaching: %+v", pod.Name, a)
		}
		f.jvm(pod).Stays, f.jvm(pod).Fault = nil, fault(v1alpha1.ReasonJVMStarting)
		change(t, pod, func(pod *corev1.Pod) { delete(pod.Annotations, optOut) })
	}
	f.expect("the pods are selected again", "Staged JVMStarting", isPending, isPending)
	for _, pod := range f.pods {
		f.jvm(pod).Fault = nil
	}
	f.later(time.Minute)
	f.expect("the rollout is complete", isAnnotated, isAnnotated, isAnnotated)
}

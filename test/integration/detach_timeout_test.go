package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// An agent that cannot be stopped is retried at growing intervals until
// spec.detach.timeout has passed; then the pod is released, with an Event. The status
// records that the detach has begun before the first try.
func TestAgentLeft(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, withWorker(), nil)
	s.areAnnotated("9400", "9404")
	worker := s.containers.Get(s.pod.UID, "worker").JVMs[0]
	worker.Stays = fault(v1alpha1.ReasonAttachTimeout)
	remove(t, s.exporter)
	s.garbageCollect()
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if a := s.attachment(s.pod); effect.What == string(helperapi.VerbUnload) && (a.Status.DetachStartTime == nil || a.Status.Reason != v1alpha1.ReasonDetaching) {
			t.Errorf("the status does not record the detach before the unload: %+v", a.Status)
		}
		return do()
	}
	again, err := o.round()
	if err != nil {
		t.Fatal(err)
	}
	if left := s.annotations(s.pod); len(left) > 0 {
		t.Errorf("annotations of %s: got %v, want none", s.pod.Name, left)
	}
	a := s.attachment(s.pod)
	if a == nil || a.Status.Reason != v1alpha1.ReasonDetaching || a.Status.Attempt.Count != 1 {
		t.Fatalf("the JmxAttachment is not detaching after one try: %+v", a)
	}
	if got := s.message("Ready"); !strings.HasPrefix(got, "False Detaching: The operator is detaching from the pod; retrying for 2m0s: ") || !strings.Contains(got, "2m0s") {
		t.Errorf("unexpected message of Ready: %q", got)
	}
	if app := s.jvm(s.pod); app.Unloads != 1 {
		t.Errorf("unloads of the other agent: got %d, want 1", app.Unloads)
	}
	s.verbs()
	start, tries := s.clock.Now(), 0
	for ; s.attachment(s.pod) != nil && tries < 20; tries++ {
		if again <= 0 || again > 2*time.Minute {
			t.Fatalf("retry after try %d: got %s, want at most 2m", tries, again)
		}
		if len(o.events.with("AgentLeft")) > 0 {
			t.Errorf("an AgentLeft Event was recorded after %s, before the timeout", s.clock.Now().Sub(start))
		}
		s.later(again)
		if again, err = o.round(); err != nil {
			t.Fatal(err)
		}
	}
	if after := s.clock.Now().Sub(start); after < 2*time.Minute || after > 2*time.Minute+time.Second || tries < 5 || tries > 10 {
		t.Errorf("the pod was released after %s and %d tries, want 2m and 5 to 10 tries", after, tries)
	}
	events := o.events.with("AgentLeft")
	if len(events) != 1 || events[0].Type != corev1.EventTypeWarning ||
		!strings.Contains(events[0].Note, "process 7 of container worker (port 9404) stays loaded until its JVM exits") ||
		strings.Contains(events[0].Note, "container app") { // whose agent was stopped
		t.Errorf("unexpected Events: %v", events)
	}
	if events := o.events.with("Detached"); len(events) != 1 || !strings.Contains(events[0].Note, "container app") || strings.Contains(events[0].Note, "worker") {
		t.Errorf("Detached Events: got %v, want one with the expected note", events)
	}
	if got, want := s.verbs(), strings.TrimSpace(strings.Repeat("unload ", tries)); got != want {
		t.Errorf("helper operations: got %q, want %q; an agent that was stopped is not stopped again", got, want)
	}
}

// A detach began, and its timeout passed while no operator ran: the next operator still
// tries once, and reports the result.
func TestDetachTimeoutPassedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]error{"stopped": nil, "left": fault(v1alpha1.ReasonAttachTimeout)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, aPod("app-0"), nil)
			remove(t, s.exporter)
			if _, err := o.round(); err != nil {
				t.Fatal(err)
			}
			if a := s.attachment(s.pod); a == nil || a.Status.DetachStartTime == nil || s.jvm(s.pod).Unloads > 0 {
				t.Fatalf("the pod is not detaching: %+v", a)
			}
			s.jvm(s.pod).Stays = stays
			s.later(time.Hour)
			o = s.operate()
			s.verbs()
			o.outlast()
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("JmxAttachment %s still exists: %+v", a.Name, a.Status)
			}
			if got := s.verbs(); got != "unload" {
				t.Errorf("helper operations: got %q, want %q", got, "unload")
			}
			detached, left := o.events.with("Detached"), o.events.with("AgentLeft")
			if len(detached) != 1-len(left) || (len(left) == 1) != (stays != nil) {
				t.Errorf("got Detached Events %v and AgentLeft Events %v, want one in total", detached, left)
			}
		})
	}
}

// Annotations that cannot be removed do not prevent agents from being stopped. The removal
// is retried until the timeout has passed, and then reported.
func TestNotWithdrawn(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, withWorker(), nil)
	refuses := true
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if refuses && effect.What == string(records.OwnerPodAnnotations) {
			return errors.New("the webhook denied the request: peace")
		}
		return do()
	}
	remove(t, s.exporter)
	s.garbageCollect()
	start := s.clock.Now()
	tries := 0
	for ; s.attachment(s.pod) != nil && tries < 20; tries++ {
		again, err := o.round()
		if err != nil {
			t.Fatal(err)
		}
		if tries == 0 && s.verbs() != "unload unload" {
			t.Error("the agents were not stopped in the first try")
		}
		s.later(again)
	}
	if after := s.clock.Now().Sub(start); after < 2*time.Minute || after > 2*time.Minute+time.Second || tries < 5 {
		t.Errorf("the pod was released after %s and %d tries, want 2m and at least 5 tries", after, tries)
	}
	if got := s.verbs(); got != "" {
		t.Errorf("helper operations of agents that were stopped: got %q, want none", got)
	}
	events := o.events.with("AgentLeft")
	if len(events) != 1 || !strings.Contains(events[0].Note, "cannot remove the annotations: ") || strings.Contains(events[0].Note, "process 7") {
		t.Errorf("unexpected Events: %v", events)
	}
	if s.annotations(s.pod)["prometheus.io/port"] != "9400" {
		t.Error("the test is wrong: the annotations were removed")
	}
	refuses = false
}

// The exporter's own timeout applies after the exporter is deleted; a detach that succeeds in time is
// reported.
func TestDetachTimeout(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Detach.Timeout = &metav1.Duration{Duration: 10 * time.Second}
	})
	s.jvm(s.pod).Stays = fault(v1alpha1.ReasonAttachTimeout)
	remove(t, s.exporter)
	s.garbageCollect()
	_, _ = o.round()
	s.later(9 * time.Second)
	_, _ = o.round()
	if s.attachment(s.pod) == nil {
		t.Fatal("the pod was released before the timeout")
	}
	s.jvm(s.pod).Stays = nil
	o.outlast()
	if a := s.attachment(s.pod); a != nil || s.jvm(s.pod).Unloads != 1 {
		t.Errorf("the pod is not detached: %v", a)
	}
	if events := o.events.with("Detached"); len(events) != 1 || len(o.events.with("AgentLeft")) > 0 {
		t.Errorf("Detached Events: got %v, want one with the expected note", events)
	}
}

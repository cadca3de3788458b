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

// An agent that cannot be stopped is told again, at growing intervals, until
// spec.detach.timeout is over; then it is released, and an Event says so. That
// taking out has begun is in the record before the first try.
func TestAgentLeft(t *testing.T) {
	s, o := longRunning(t, withWorker(), nil)
	s.areAnnotated("9400", "9404")
	worker := s.containers.get(s.pod.UID, "worker").jvms[0]
	worker.stays = fault(v1alpha1.ReasonAttachTimeout)
	remove(t, s.exporter)
	s.garbageCollect()
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if a := s.attachment(s.pod); effect.What == string(helperapi.VerbUnload) && (a.Status.DetachStartTime == nil || a.Status.Reason != v1alpha1.ReasonDetaching) {
			t.Errorf("unloaded with the record %+v", a.Status)
		}
		return do()
	}
	again, err := o.round()
	if err != nil {
		t.Fatal(err)
	}
	if left := s.annotations(s.pod); len(left) > 0 {
		t.Errorf("annotations are left: %v", left)
	}
	a := s.attachment(s.pod)
	if a == nil || a.Status.Reason != v1alpha1.ReasonDetaching || a.Status.Attempt.Count != 1 {
		t.Fatalf("the record is %+v", a)
	}
	if got := s.message("Ready"); !strings.HasPrefix(got, "False Detaching: The operator is detaching from the pod; retrying for 2m0s: ") || !strings.Contains(got, "2m0s") {
		t.Errorf("it says %s", got)
	}
	if app := s.jvm(s.pod); app.unloads != 1 {
		t.Errorf("the other agent was stopped %d times", app.unloads)
	}
	s.verbs()
	start, tries := s.clock.Now(), 0
	for ; s.attachment(s.pod) != nil && tries < 20; tries++ {
		if again <= 0 || again > 2*time.Minute {
			t.Fatalf("after try %d it is tried again in %s", tries, again)
		}
		if len(o.events.with("AgentLeft")) > 0 {
			t.Errorf("an Event says after %s that the agent is left", s.clock.Now().Sub(start))
		}
		s.later(again)
		if again, err = o.round(); err != nil {
			t.Fatal(err)
		}
	}
	if after := s.clock.Now().Sub(start); after < 2*time.Minute || after > 2*time.Minute+time.Second || tries < 5 || tries > 10 {
		t.Errorf("it was let go of after %s and %d tries", after, tries)
	}
	events := o.events.with("AgentLeft")
	if len(events) != 1 || events[0].Type != corev1.EventTypeWarning ||
		!strings.Contains(events[0].Note, "process 7 of container worker (port 9404) stays loaded until its JVM exits") ||
		strings.Contains(events[0].Note, "container app") { // whose agent was stopped
		t.Errorf("of Events there are %v", events)
	}
	if events := o.events.with("Detached"); len(events) != 1 || !strings.Contains(events[0].Note, "container app") || strings.Contains(events[0].Note, "worker") {
		t.Errorf("of Events there are %v", events)
	}
	if got, want := s.verbs(), strings.TrimSpace(strings.Repeat("unload ", tries)); got != want {
		t.Errorf("run was %q: the agent that was stopped is not stopped again", got)
	}
}

// Taking out was begun, and its timeout passed while no operator ran: the next one
// tries once all the same, and says what it came to.
func TestDetachTimeoutPassedMeanwhile(t *testing.T) {
	for name, stays := range map[string]error{"stopped": nil, "left": fault(v1alpha1.ReasonAttachTimeout)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, aPod("app-0"), nil)
			remove(t, s.exporter)
			if _, err := o.round(); err != nil {
				t.Fatal(err)
			}
			if a := s.attachment(s.pod); a == nil || a.Status.DetachStartTime == nil || s.jvm(s.pod).unloads > 0 {
				t.Fatalf("it is not being taken out: %+v", a)
			}
			s.jvm(s.pod).stays = stays
			s.later(time.Hour)
			o = s.operate()
			s.verbs()
			o.outlast()
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("the record is left: %+v", a.Status)
			}
			if got := s.verbs(); got != "unload" {
				t.Errorf("run was %q", got)
			}
			detached, left := o.events.with("Detached"), o.events.with("AgentLeft")
			if len(detached) != 1-len(left) || (len(left) == 1) != (stays != nil) {
				t.Errorf("of Events there are %v and %v", detached, left)
			}
		})
	}
}

// Annotations that cannot be withdrawn keep no agent from being stopped. It is
// tried again until the timeout is over, and then told.
func TestNotWithdrawn(t *testing.T) {
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
			t.Error("the agents are not stopped at once")
		}
		s.later(again)
	}
	if after := s.clock.Now().Sub(start); after < 2*time.Minute || after > 2*time.Minute+time.Second || tries < 5 {
		t.Errorf("it was let go of after %s and %d tries", after, tries)
	}
	if got := s.verbs(); got != "" {
		t.Errorf("what was stopped is stopped again: run was %q", got)
	}
	events := o.events.with("AgentLeft")
	if len(events) != 1 || !strings.Contains(events[0].Note, "cannot remove the annotations: ") || strings.Contains(events[0].Note, "process 7") {
		t.Errorf("of Events there are %v", events)
	}
	if s.annotations(s.pod)["prometheus.io/port"] != "9400" {
		t.Error("the test is wrong: the annotations are withdrawn")
	}
	refuses = false
}

// With a timeout of its own, once the exporter is gone; what is mended in time is
// told.
func TestDetachTimeout(t *testing.T) {
	s, o := longRunning(t, aPod("app-0"), func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Detach.Timeout = &metav1.Duration{Duration: 10 * time.Second}
	})
	s.jvm(s.pod).stays = fault(v1alpha1.ReasonAttachTimeout)
	remove(t, s.exporter)
	s.garbageCollect()
	_, _ = o.round()
	s.later(9 * time.Second)
	_, _ = o.round()
	if s.attachment(s.pod) == nil {
		t.Fatal("it is released too early")
	}
	s.jvm(s.pod).stays = nil
	o.outlast()
	if a := s.attachment(s.pod); a != nil || s.jvm(s.pod).unloads != 1 {
		t.Errorf("it is not taken out: %v", a)
	}
	if events := o.events.with("Detached"); len(events) != 1 || len(o.events.with("AgentLeft")) > 0 {
		t.Errorf("of Events there are %v", events)
	}
}

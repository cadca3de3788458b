package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// verbs are those run since the last time it was asked.
func (s *story) verbs() string {
	var verbs []string
	for _, verb := range s.containers.called() {
		verbs = append(verbs, string(verb))
	}
	return strings.Join(verbs, " ")
}

// An agent that cannot be stopped is told again, at growing intervals, until
// spec.detach.timeout is over; then it is let go of, and an Event says so. That
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

// The order of taking out: the annotations, then the endpoints, then the agents,
// which serve until then; but not for ever, should nobody withdraw the endpoints.
func TestOrderOfTakingOut(t *testing.T) {
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
				t.Errorf("it is looked at again in %s", again)
			}
			s.later(time.Second)
		}
		if left := s.annotations(s.pod); len(left) != 1 {
			t.Errorf("annotations are left: %v", left)
		}
		if got := s.verbs(); got != "" || strings.Count(s.endpoints(s.exporter), "app-0") != 2 {
			t.Errorf("run was %q; published is %q", got, s.endpoints(s.exporter))
		}
		return s, o
	}
	t.Run("when the endpoints are withdrawn", func(t *testing.T) {
		t.Parallel()
		s, o := begun(t)
		if _, err := o.round(); err != nil { // the exporter's turn is first
			t.Fatal(err)
		}
		if got := s.verbs(); got != "unload unload" || s.endpoints(s.exporter) != "" {
			t.Errorf("run was %q; published is %q", got, s.endpoints(s.exporter))
		}
	})
	t.Run("when nobody withdraws them", func(t *testing.T) {
		t.Parallel()
		s, o := begun(t)
		s.later(2 * time.Second)
		s.check(o)
		if got := s.verbs(); got != "unload unload" || s.attachment(s.pod) != nil {
			t.Errorf("run was %q", got)
		}
	})
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
	if len(events) != 1 || !strings.Contains(events[0].Note, "the annotations cannot be withdrawn: ") || strings.Contains(events[0].Note, "process 7") {
		t.Errorf("of Events there are %v", events)
	}
	if s.annotations(s.pod)["prometheus.io/port"] != "9400" {
		t.Error("the test is wrong: the annotations are withdrawn")
	}
	refuses = false
}

// A record that knows nothing of the pod's JVMs, as one that was made anew: agents
// are looked for before it goes.
func TestTakenOutUnknown(t *testing.T) {
	s, o := longRunning(t, withWorker(), nil)
	remove(t, s.attachment(s.pod))
	if _, err := o.exporters.Reconcile(t.Context(), requestFor(s.exporter)); err != nil {
		t.Fatal(err)
	}
	if a := s.attachment(s.pod); a == nil || len(a.Status.Containers) != 0 {
		t.Fatalf("the record is %+v", a)
	}
	remove(t, s.exporter)
	s.garbageCollect()
	worker := s.containers.get(s.pod.UID, "worker")
	worker.fault = fault(v1alpha1.ReasonExecFailed)
	if _, err := o.round(); err != nil {
		t.Fatal(err)
	}
	if s.attachment(s.pod) == nil || s.jvm(s.pod).unloads != 1 {
		t.Error("it does not stop what it sees, or does not wait for what it does not")
	}
	worker.fault = nil
	o.outlast()
	if a := s.attachment(s.pod); a != nil || s.jvm(s.pod).unloads != 1 || worker.jvms[0].unloads != 1 {
		t.Errorf("it is not taken out: %+v", a)
	}
	if left := s.annotations(s.pod); len(left) > 0 {
		t.Errorf("annotations are left: %v", left)
	}
}

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

// A pod that comes back while it is taken out: that agents may be there is not
// forgotten, should it leave again before it was looked into.
func TestComesBackMidway(t *testing.T) {
	const optOut = "banzaicloud.com/jmx-exporter-opt-out"
	s, o := longRunning(t, aPod("app-0"), nil)
	s.jvm(s.pod).stays = fault(v1alpha1.ReasonAttachTimeout)
	change(t, s.pod, func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, optOut, "true") })
	_, _ = o.round()
	if a := s.attachment(s.pod); a == nil || a.Status.Reason != v1alpha1.ReasonDetaching {
		t.Fatalf("it is not being taken out: %+v", a)
	}
	change(t, s.pod, func(pod *corev1.Pod) { delete(pod.Annotations, optOut) })
	s.containers.fail(helperapi.VerbInspect, v1alpha1.ReasonExecFailed)
	s.later(time.Second)
	_, _ = o.round()
	a := s.attachment(s.pod)
	if a == nil || a.Status.DetachStartTime != nil || phaseOf(a) != "Discovered ExecFailed" || len(a.Status.Processes) != 1 {
		t.Fatalf("it is not back: %+v", a)
	}
	if p := a.Status.Processes[0]; p.Intent == nil || p.Endpoint != nil || p.Port != 0 || p.Staged != nil {
		t.Errorf("of the process is known: %+v", p)
	}
	s.containers.mend()
	s.jvm(s.pod).stays = nil
	change(t, s.pod, func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, optOut, "true") })
	s.verbs()
	o.outlast()
	if a := s.attachment(s.pod); a != nil || s.jvm(s.pod).unloads != 1 {
		t.Errorf("it is not taken out: %+v", a)
	}
	if got := s.verbs(); got != "inspect unload" {
		t.Errorf("run was %q", got)
	}
	if events := o.events.with("Detached"); len(events) != 1 || !strings.Contains(events[0].Note, "the agent in process 7 of container app (port 9400) is stopped") {
		t.Errorf("of Events there are %v", events)
	}
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
		t.Fatal("it is let go of too early")
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

// A pod that opts out is taken out, and stays so; one that changes its mind, also
// while it is being taken out, is looked at anew.
func TestOptOut(t *testing.T) {
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
		t.Errorf("not to opt out made it do %q", o.did())
	}
	says(s, "true")
	o.settle()
	s.garbageCollect()
	if diff := cmp.Diff(map[string]string{optOut: "true"}, s.annotations(s.pod)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if a, j := s.attachment(s.pod), s.jvm(s.pod); a != nil || j.unloads != 1 || s.endpoints(s.exporter) != "" {
		t.Errorf("it is not taken out: %v", a)
	}
	if get(t, s.exporter); s.exporter.Status.Matched != 0 {
		t.Errorf("the exporter still counts it: %+v", s.exporter.Status)
	}
	says(s, "")
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != "Annotated" || s.jvm(s.pod).loads != 1 {
		t.Errorf("it is %s, and was loaded %d times", got, s.jvm(s.pod).loads)
	}

	s.prove(o)
	s.jvm(s.pod).stays = fault(v1alpha1.ReasonAttachTimeout)
	says(s, "true")
	_, _ = o.round()
	_, _ = o.round()
	if a := s.attachment(s.pod); a == nil || a.Status.DetachStartTime == nil {
		t.Fatalf("it is not being taken out: %v", a)
	}
	says(s, "")
	s.verbs()
	o.settle()
	a := s.attachment(s.pod)
	if got := phaseOf(a); got != "Annotated" || a.Status.DetachStartTime != nil || a.Status.Attempt != nil {
		t.Errorf("it is %s: %+v", got, a.Status)
	}
	if got := s.verbs(); got != "inspect inspect load" {
		t.Errorf("run was %s", got)
	}
	if got, want := s.endpoints(s.exporter), fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP); got != want {
		t.Errorf("published is %q", got)
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

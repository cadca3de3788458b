package integration

import (
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The reasons why an exporter changes nothing new.
var stops = map[string]func(*story){
	"the exporter is suspended": func(s *story) {
		change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true })
	},
	"the rollout is halted": func(s *story) { // by another pod
		get(s.t, s.exporter)
		s.exporter.Status.Halt = &v1alpha1.Halt{Revision: s.exporter.Status.Revision, Reason: v1alpha1.ReasonConfigRejected, Message: "Pod other: No."}
		if err := admin.Status().Update(s.t.Context(), s.exporter); err != nil {
			s.t.Fatal(err)
		}
	},
}

// stopped runs a test for each of them, with a serving pod.
func stopped(t *testing.T, pod func() *podBuilder, test func(s *story, o *operator)) {
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, pod(), nil)
			o.tire()
			stop(s)
			o.settle()
			test(s, o)
		})
	}
}

// One of two containers restarts: the other JVM is kept, and annotated.
func TestOtherIsKept(t *testing.T) {
	t.Parallel()
	stopped(t, withWorker, func(s *story, o *operator) {
		s.restart(s.pod)
		o.tire()
		if got := s.attachment(s.pod).Status.Phase; got != v1alpha1.PhaseJavaFound {
			s.t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, v1alpha1.PhaseJavaFound)
		}
		if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9404" {
			s.t.Errorf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, got, "9404")
		}
	})
}

// The agent is not loaded into a JVM that starts late while the rollout is stopped, and the
// other JVM keeps serving.
func TestLateJVMWhileStopped(t *testing.T) {
	t.Parallel()
	starting := &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
	pod := func() *podBuilder {
		pod := withWorker()
		pod.jvms["worker"][0].Refusal = starting
		return pod
	}
	stopped(t, pod, func(s *story, o *operator) {
		worker := s.containers.Get(s.pod.UID, "worker").JVMs[0]
		worker.Refusal = nil
		s.verbs()
		for range 3 {
			s.later(10 * time.Minute)
			o.settle()
		}
		if got, verbs := s.attachment(s.pod).Status.Phase, s.verbs(); got != v1alpha1.PhaseJavaFound || verbs != "inspect" || worker.Loads > 0 {
			s.t.Errorf("got phase %s with helper operations %q, want JavaFound with one inspect", got, verbs)
		}
		if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
			s.t.Errorf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, got, "9400")
		}
	})
}

// A recreated JmxAttachment is filled from the agents that run, as soon as they can be
// inspected, and without rules that are not yet rolled out.
func TestRemadeWhileStopped(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*story) (show func()){
		"exec fails temporarily": func(s *story) func() {
			s.containers.Fail(helperapi.VerbInspect, v1alpha1.ReasonExecFailed)
			return s.containers.Mend
		},
		"the agent does not answer temporarily": func(s *story) func() {
			j := s.jvm(s.pod)
			mark := j.Mark
			j.Mark = nil
			return func() { j.Mark = mark }
		},
	} {
		t.Run(name, func(t *testing.T) {
			stopped(t, withWorker, func(s *story, o *operator) {
				before := s.endpoints(s.exporter)
				show := hide(s)
				remove(s.t, s.attachment(s.pod))
				o.tire()
				if got := s.endpoints(s.exporter); got != before {
					s.t.Errorf("endpoints of the exporter: got %q, want %q", got, before)
				}
				show()
				s.later(10 * time.Minute)
				o.settle()
				if got := s.endpoints(s.exporter); got != before {
					s.t.Errorf("in the end, the endpoints of the exporter: got %q, want %q", got, before)
				}
				remove(s.t, s.exporter)
				s.garbageCollect()
				o.outlast()
				if s.attachment(s.pod) != nil || s.jvm(s.pod).Running() {
					s.t.Errorf("the agent or its JmxAttachment still exists: %+v", s.attachment(s.pod))
				}
			})
		})
	}
}

// Rules that change while the exporter is suspended apply when it resumes, also to a
// JmxAttachment that was recreated meanwhile.
func TestRulesOfARemadeRecord(t *testing.T) {
	t.Parallel()
	for name, how := range releases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := withWorker()
			worker := pod.jvms["worker"][0]
			worker.MainClass = "com.example.Worker"
			s, o := longRunning(t, pod, nil)
			before := s.endpoints(s.exporter)
			change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Spec.Suspend = true
				how(e)
			})
			o.settle()
			remove(t, s.attachment(s.pod))
			o.settle()
			if got := s.endpoints(s.exporter); got != before || worker.Unloads > 0 {
				t.Errorf("endpoints of the exporter: got %q, want %q; the agent was stopped %d times", got, before, worker.Unloads)
			}
			change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = false })
			o.settle()
			if worker.Running() || worker.Unloads != 1 {
				t.Errorf("unloads in worker: got %d, want 1", worker.Unloads)
			}
			if got := s.endpoints(s.exporter); strings.Contains(got, "9404") {
				t.Errorf("endpoints of the exporter: got %q, want none on port 9404", got)
			}
		})
	}
}

// The first JVM moves to another port although the other JVM's load fails.
func TestPortMovesBesideOneThatFails(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, withWorker(), nil)
	s.containers.Get(s.pod.UID, "worker").JVMs[0].Fault = fault(v1alpha1.ReasonAgentNotAnswering)
	s.configure(changed)
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	o.tire()
	if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9500" {
		t.Errorf("prometheus.io/port of %s: got %q, want 9500; the phase is %s", s.pod.Name, got, phaseOf(s.attachment(s.pod)))
	}
	if got := s.endpoints(s.exporter); !strings.HasSuffix(got, ":9500") || !strings.Contains(got, ":9404") {
		t.Errorf("endpoints of the exporter: got %q, want one on 9500 and one on 9404", got)
	}
}

// Retries of one JVM do not regress another: a canary with a failing JVM proves the
// other JVM, and the rollout continues.
func TestCanaryBesideAFailure(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(withWorker())
	s.containers.Get(s.pod.UID, "worker").JVMs[0].Fault = fault(v1alpha1.ReasonAttachTimeout)
	second := s.run(aPod("app-1"))
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	s.exporter.Spec.Rollout = v1alpha1.Rollout{Canary: v1alpha1.Canary{Count: new(int32(1)), MinReadySeconds: new(int32(3600))}}
	create(t, s.exporter)
	o.tire()
	o.did()
	for range 10 {
		s.later(10 * time.Minute)
		o.settle()
		if got := phaseOf(s.attachment(s.pod)); got != "Staged AttachTimeout" {
			t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "Staged AttachTimeout")
		}
	}
	if got := phaseOf(s.attachment(second)); got != isAnnotated {
		t.Errorf("phase of %s: got %q, want %q", second.Name, got, isAnnotated)
	}
	var loads int
	for _, effect := range o.did() {
		if strings.HasPrefix(effect, "exec load") {
			loads++
		}
	}
	if loads < 5 || loads > 10 { // more are those of the other JVM
		t.Errorf("retries: got %d loads, want 5 to 10", loads)
	}
}

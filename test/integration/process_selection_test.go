package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// The processes that are selected by spec.containers and by the rules.
func TestChosen(t *testing.T) {
	t.Parallel()
	exclude := func(mainClass string) func(*v1alpha1.PrometheusJmxExporter) {
		return func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: v1alpha1.Pattern(mainClass)}}
		}
	}
	only := func(containers ...v1alpha1.ContainerName) func(*v1alpha1.PrometheusJmxExporter) {
		return func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = containers }
	}
	excludeArgument := func(name, whole v1alpha1.Pattern) func(*v1alpha1.PrometheusJmxExporter) {
		return func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, Argument: name, WholeArgument: whole}}
		}
	}
	cases := map[string]struct {
		how  func(*v1alpha1.PrometheusJmxExporter)
		want []string
		is   string
	}{
		"everything is selected":            {nil, []string{"app 9400", "worker 9404"}, "Annotated"},
		"a container is selected":           {only("worker"), []string{"worker 9400"}, "Annotated"},
		"a missing container is selected":   {only("other"), nil, "Discovered ContainerNotRunning"},
		"a main class is excluded":          {exclude("com.example.Worker"), []string{"app 9400", "worker 0 Excluded"}, "Annotated"},
		"the first process is excluded":     {exclude("com.example.Main"), []string{"worker 9400", "app 0 Excluded"}, "Annotated"},
		"an unknown main class is excluded": {exclude("com.example.Other"), []string{"app 9400", "worker 9404"}, "Annotated"},
		"everything is excluded":            {exclude(""), []string{"app 0 Excluded", "worker 0 Excluded"}, "Discovered NoProcessIncluded"},
		"the first matching rule applies": {func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleInclude, Argument: "-Dwork"}, {Action: v1alpha1.RuleExclude}}
		}, []string{"worker 9400", "app 0 Excluded"}, "Annotated"},
		"the name of an option matches": {excludeArgument("-Dwork", ""), []string{"app 9400", "worker 0 Excluded"}, "Annotated"},
		"a whole argument matches":      {excludeArgument("", "-Dwork=much"), []string{"app 9400", "worker 0 Excluded"}, "Annotated"},
		"a part of it does not":         {excludeArgument("", "-Dwork"), []string{"app 9400", "worker 9404"}, "Annotated"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := withWorker()
			pod.jvms["worker"][0].MainClass, pod.jvms["worker"][0].Argument = "com.example.Worker", "-Dwork=much"
			s, _ := longRunning(t, pod, tc.how)
			if got := phaseOf(s.attachment(s.pod)); got != tc.is {
				t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, tc.is)
			}
			if diff := cmp.Diff(tc.want, s.processes()); diff != "" {
				t.Errorf("processes in the status (-want +got):\n%s", diff)
			}
		})
	}
}

// releases are the ways in which an exporter releases one JVM of two, the worker's.
var releases = map[string]func(*v1alpha1.PrometheusJmxExporter){
	"the rules exclude it": func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Worker"}}
	},
	"spec.containers does not list its container": func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = []v1alpha1.ContainerName{"app"} },
}

// The rules change: agents in processes that are now excluded are stopped, and serve again
// when the rules change back, without another load.
func TestRulesChange(t *testing.T) {
	t.Parallel()
	for name, how := range releases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := withWorker()
			worker := pod.jvms["worker"][0]
			worker.MainClass = "com.example.Worker"
			s, o := longRunning(t, pod, nil)
			s.areAnnotated("9400", "9404")
			change(t, s.exporter, how)
			o.settle()
			if worker.Unloads != 1 || worker.Running() {
				t.Errorf("the agent in worker: got %d unloads and state %s, want one unload", worker.Unloads, worker.Mark.State)
			}
			for _, p := range s.attachment(s.pod).Status.Processes[1:] {
				if record.MayHaveAgent(&p) {
					t.Errorf("the excluded process may still have an agent by its status: %+v", p)
				}
			}
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) {
				t.Errorf("endpoints of the exporter: got %q, want app-0 on port 9400 only", got)
			}
			s.prove(o)
			if o.did(); o.settle() != 0 || o.count() > 0 {
				t.Errorf("effects without a change: got %q, want none", o.did())
			}
			change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Processes, e.Spec.Containers = nil, nil })
			o.settle()
			s.areAnnotated("9400", "9404")
			if j := s.jvm(s.pod); j.Unloads > 0 {
				t.Error("the other agent was stopped")
			}
		})
	}
}

// The agent in an excluded JVM cannot be stopped: that is reported, and the other JVM's
// endpoint is kept.
func TestExcludedAgentStays(t *testing.T) {
	t.Parallel()
	pod := withWorker()
	worker := pod.jvms["worker"][0]
	worker.MainClass, worker.Stays = "com.example.Worker", fault(v1alpha1.ReasonAttachTimeout)
	s, o := longRunning(t, pod, nil)
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Worker"}}
	})
	for range 6 {
		if _, err := o.round(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.endpoints(s.exporter), ":9400") || s.annotations(s.pod)["prometheus.io/port"] != "9400" {
			t.Fatalf("endpoints of the exporter: got %q, want one on port 9400, and its annotation", s.endpoints(s.exporter))
		}
		if ready := s.exporterReady(); ready.Reason != v1alpha1.ReasonProgressing {
			t.Fatalf("Ready while the agent is not stopped: got %+v, want Progressing", ready)
		}
		s.later(time.Minute)
	}
	if got := s.message("JavaFound"); !strings.Contains(got, "The agent in container worker, process 7 is not yet stopped: AttachTimeout.") {
		t.Errorf("message of JavaFound does not name the agent: %s", got)
	}
	if ready := s.exporterReady(); !strings.Contains(ready.Message, "excluded JVMs of 1 pods") {
		t.Errorf("message of the exporter's Ready while the agent is not stopped: %q", ready.Message)
	}
	worker.Stays = nil
	o.outlast()
	if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) || worker.Unloads != 1 {
		t.Errorf("endpoints of the exporter: got %q, want app-0 on port 9400 only; the agent was stopped %d times, want 1", got, worker.Unloads)
	}
	if ready := s.exporterReady(); ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready after the agent is stopped: got %+v, want True", ready)
	}
}

// exporterReady returns the condition Ready of the exporter.
func (s *story) exporterReady() *metav1.Condition {
	get(s.t, s.exporter)
	return meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionReady)
}

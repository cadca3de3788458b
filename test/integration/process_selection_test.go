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
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Which processes are meant: spec.containers, and the rules.
func TestChosen(t *testing.T) {
	exclude := func(mainClass string) func(*v1alpha1.PrometheusJmxExporter) {
		return func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: v1alpha1.Pattern(mainClass)}}
		}
	}
	only := func(containers ...v1alpha1.ContainerName) func(*v1alpha1.PrometheusJmxExporter) {
		return func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = containers }
	}
	cases := map[string]struct {
		how  func(*v1alpha1.PrometheusJmxExporter)
		want []string
		is   string
	}{
		"all":                     {nil, []string{"app 9400", "worker 9404"}, "Annotated"},
		"a container":             {only("worker"), []string{"worker 9400"}, "Annotated"},
		"a container that is not": {only("other"), nil, "Discovered ContainerNotRunning"},
		"not a main class":        {exclude("com.example.Worker"), []string{"app 9400", "worker 0 Excluded"}, "Annotated"},
		"not the first":           {exclude("com.example.Main"), []string{"worker 9400", "app 0 Excluded"}, "Annotated"},
		"a class that nobody has": {exclude("com.example.Other"), []string{"app 9400", "worker 9404"}, "Annotated"},
		"none":                    {exclude(""), []string{"app 0 Excluded", "worker 0 Excluded"}, "Discovered NoProcessIncluded"},
		"the first rule that fits": {func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleInclude, Argument: "-Dwork"}, {Action: v1alpha1.RuleExclude}}
		}, []string{"worker 9400", "app 0 Excluded"}, "Annotated"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := withWorker()
			pod.jvms["worker"][0].MainClass, pod.jvms["worker"][0].argument = "com.example.Worker", "-Dwork"
			s, _ := longRunning(t, pod, tc.how)
			if got := phaseOf(s.attachment(s.pod)); got != tc.is {
				t.Errorf("the pod is %s", got)
			}
			if diff := cmp.Diff(tc.want, s.processes()); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
		})
	}
}

// releases are how an exporter lets go of one JVM of two, the worker's.
var releases = map[string]func(*v1alpha1.PrometheusJmxExporter){
	"the rules exclude it": func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Worker"}}
	},
	"its container is not named": func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Containers = []v1alpha1.ContainerName{"app"} },
}

// The rules change: what they exclude now is unloaded, and comes back when they
// change again, without another load.
func TestRulesChange(t *testing.T) {
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
			if worker.unloads != 1 || worker.running() {
				t.Errorf("the agent was stopped %d times, and is %s", worker.unloads, worker.Mark.State)
			}
			for _, p := range s.attachment(s.pod).Status.Processes[1:] {
				if steps.MayHaveAgent(&p) {
					t.Errorf("it is on record as loaded into: %+v", p)
				}
			}
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) {
				t.Errorf("published is %q", got)
			}
			s.prove(o)
			if o.did(); o.settle() != 0 || o.count() > 0 {
				t.Errorf("at rest it did %q", o.did())
			}
			change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Processes, e.Spec.Containers = nil, nil })
			o.settle()
			s.areAnnotated("9400", "9404")
			if j := s.jvm(s.pod); j.unloads > 0 {
				t.Error("the other agent was stopped")
			}
		})
	}
}

// The agent in a JVM that the rules exclude cannot be stopped: said, and what the
// other JVM has stays.
func TestExcludedAgentStays(t *testing.T) {
	pod := withWorker()
	worker := pod.jvms["worker"][0]
	worker.MainClass, worker.stays = "com.example.Worker", fault(v1alpha1.ReasonAttachTimeout)
	s, o := longRunning(t, pod, nil)
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Worker"}}
	})
	for range 6 {
		if _, err := o.round(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.endpoints(s.exporter), ":9400") || s.annotations(s.pod)["prometheus.io/port"] != "9400" {
			t.Fatalf("published is %q", s.endpoints(s.exporter))
		}
		if ready := s.exporterReady(); ready.Reason != v1alpha1.ReasonProgressing {
			t.Fatalf("while the agent is not stopped, Ready is %+v", ready)
		}
		s.later(time.Minute)
	}
	if got := s.message("JavaFound"); !strings.Contains(got, "The agent in container worker, process 7 is not yet stopped: AttachTimeout.") {
		t.Errorf("it says %s", got)
	}
	if ready := s.exporterReady(); !strings.Contains(ready.Message, "excluded JVMs of 1 pods") {
		t.Errorf("while the agent is not stopped, the exporter says %q", ready.Message)
	}
	worker.stays = nil
	o.outlast()
	if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) || worker.unloads != 1 {
		t.Errorf("published is %q; the agent was stopped %d times", got, worker.unloads)
	}
	if ready := s.exporterReady(); ready.Status != metav1.ConditionTrue {
		t.Errorf("after the agent is stopped, Ready is %+v", ready)
	}
}

// exporterReady is the condition Ready of the exporter.
func (s *story) exporterReady() *metav1.Condition {
	get(s.t, s.exporter)
	return meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionReady)
}

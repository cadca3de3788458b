package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A JVM has the stock exporter: nothing is staged in the container, and its endpoint is
// exposed unchanged.
func TestAdopted(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	stock := aJVM(javaStartTime)
	stock.Exporter = &helperapi.Exporter{Port: 9999}
	pod := aPod("app-0")
	pod.jvms["app"] = []*jvm{stock}
	s.pod = s.run(pod)
	s.exporter = s.export("exporter")
	o.settle()
	s.areAnnotated("9999")
	if files, _ := s.container(s.pod).Files(); stock.Loads > 0 || len(files) > 0 || len(stock.Asked) > 0 {
		t.Errorf("got %d loads and files %v, want none", stock.Loads, files)
	}
	if got := s.message("Loaded"); !strings.HasPrefix(got, "True Adopted: The stock exporter serves port 9999") {
		t.Errorf("condition Loaded: got %s, want Adopted on port 9999", got)
	}
	if diff := cmp.Diff([]string{"app 9999 adopted"}, s.processes()); diff != "" {
		t.Errorf("processes in the status (-want +got):\n%s", diff)
	}
	s.prove(o)
	s.configure("lowercaseOutputName: true\n" + rules)
	o.settle()
	s.areAnnotated("9999")
	if files, _ := s.container(s.pod).Files(); stock.Loads > 0 || len(files) > 0 {
		t.Error("a change of the configuration has an effect on the stock exporter")
	}
	remove(t, s.exporter)
	o.settle()
	if a := s.attachment(s.pod); a != nil || s.annotations(s.pod)["prometheus.io/port"] != "" {
		t.Errorf("the pod is not detached: %v", a)
	}
	for _, verb := range s.containers.Called() {
		if verb != helperapi.VerbInspect && verb != helperapi.VerbUnload { // which removes the helper
			t.Errorf("helper operation %s was run, want inspect and unload only", verb)
		}
	}
	if stock.Unloads > 0 {
		t.Error("the stock exporter was stopped")
	}
}

// A stock exporter that does not serve is reported, and inspected again.
func TestAdoptedNotServing(t *testing.T) {
	t.Parallel()
	pod := aPod("app-0")
	stock := pod.jvms["app"][0]
	stock.Exporter = &helperapi.Exporter{}
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(pod)
	s.exporter = s.export("exporter")
	o.settle()
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonStockExporterNotServing, says: "its port was not found"}.is(o, s.pod)
	stock.Exporter.Port = 9999
	s.later(10 * time.Minute)
	o.settle()
	s.areAnnotated("9999")
}

// A stock exporter that starts in a JVM after its inspection is adopted.
func TestStockExporterComes(t *testing.T) {
	t.Parallel()
	pod := aPod("app-0")
	stock := pod.jvms["app"][0]
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(pod)
	stock.Fault = fault(string(helperapi.ReasonStockExporter))
	s.exporter = s.export("exporter")
	_, _ = o.round()
	stock.Exporter, stock.Fault = &helperapi.Exporter{Port: 9999}, nil
	o.outlast()
	s.areAnnotated("9999")
	if stock.Loads > 0 {
		t.Error("an agent was loaded beside the stock exporter")
	}
}

// One JVM has the stock exporter, and the operator's agent in the other gets another port.
func TestAdoptedBesideOurs(t *testing.T) {
	t.Parallel()
	pod := withWorker()
	pod.jvms["worker"][0].Exporter = &helperapi.Exporter{Port: 9404}
	s, _ := longRunning(t, pod, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 0 })
	if diff := cmp.Diff([]string{"app 9405", "worker 9404 adopted"}, s.processes()); diff != "" {
		t.Errorf("processes in the status (-want +got):\n%s", diff)
	}
	if got := s.message("Loaded"); !strings.HasPrefix(got, "True AgentServing: The agent serves port 9405, 9404.") {
		t.Errorf("condition Loaded: got %s, want AgentServing on ports 9405 and 9404", got)
	}
	s.areAnnotated("9405", "9404")
}

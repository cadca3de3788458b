package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The stock exporter is in the JVM: nothing is brought into the container, its
// endpoint is exposed as it is, and left so.
func TestAdopted(t *testing.T) {
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
	if stock.loads > 0 || len(s.container(s.pod).files) > 0 || len(stock.asked) > 0 {
		t.Errorf("the agent was loaded %d times; files: %v", stock.loads, s.container(s.pod).files)
	}
	if got := s.message("Loaded"); !strings.HasPrefix(got, "True Adopted: The stock exporter serves port 9999") {
		t.Errorf("Loaded is %s", got)
	}
	if diff := cmp.Diff([]string{"app 9999 adopted"}, s.processes()); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	s.prove(o)
	s.configure("lowercaseOutputName: true\n" + rules)
	o.settle()
	s.areAnnotated("9999")
	if stock.loads > 0 || len(s.container(s.pod).files) > 0 {
		t.Error("a change of the configuration reached it")
	}
	remove(t, s.exporter)
	o.settle()
	if a := s.attachment(s.pod); a != nil || s.annotations(s.pod)["prometheus.io/port"] != "" {
		t.Errorf("it is not taken out: %v", a)
	}
	for _, verb := range s.containers.called() {
		if verb != helperapi.VerbInspect && verb != helperapi.VerbUnload { // which removes the helper
			t.Errorf("verb %s was run", verb)
		}
	}
	if stock.unloads > 0 {
		t.Error("it was stopped")
	}
}

// The stock exporter does not serve: said, and looked at again.
func TestAdoptedNotServing(t *testing.T) {
	pod := aPod("app-0")
	stock := pod.jvms["app"][0]
	stock.Exporter = &helperapi.Exporter{}
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(pod)
	s.exporter = s.export("exporter")
	o.settle()
	refusal{phase: v1alpha1.PhaseDiscovered, reason: v1alpha1.ReasonStockExporterNotServing, says: "answers on no port"}.is(o, s.pod)
	stock.Exporter.Port = 9999
	s.later(10 * time.Minute)
	o.settle()
	s.areAnnotated("9999")
}

// The stock exporter comes into a JVM after it was looked at: it is adopted.
func TestStockExporterComes(t *testing.T) {
	pod := aPod("app-0")
	stock := pod.jvms["app"][0]
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(pod)
	stock.fault = fault(string(helperapi.ReasonStockExporter))
	s.exporter = s.export("exporter")
	_, _ = o.round()
	stock.Exporter, stock.fault = &helperapi.Exporter{Port: 9999}, nil
	o.outlast()
	s.areAnnotated("9999")
	if stock.loads > 0 {
		t.Error("an agent was loaded beside it")
	}
}

// One JVM has the stock exporter, the other gets ours, on another port.
func TestAdoptedBesideOurs(t *testing.T) {
	pod := withWorker()
	pod.jvms["worker"][0].Exporter = &helperapi.Exporter{Port: 9404}
	s, _ := longRunning(t, pod, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 0 })
	if diff := cmp.Diff([]string{"app 9405", "worker 9404 adopted"}, s.processes()); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	if got := s.message("Loaded"); !strings.HasPrefix(got, "True AgentServing: The agent serves port 9405, 9404.") {
		t.Errorf("Loaded is %s", got)
	}
	s.areAnnotated("9405", "9404")
}

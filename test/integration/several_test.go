package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// longRunning is a pod with these containers, of an exporter that is as the API makes
// it but for a change, after some time.
func longRunning(t *testing.T, pod *podBuilder, how func(*v1alpha1.PrometheusJmxExporter)) (*story, *operator) {
	t.Helper()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(pod)
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	if how != nil {
		how(s.exporter)
	}
	create(t, s.exporter)
	o.settle()
	s.prove(o)
	o.did()
	s.containers.called()
	return s, o
}

// left is why a process is not attached to; empty when it is.
func left(p *v1alpha1.JavaProcess) string {
	if p.Excluded {
		return "Excluded"
	}
	return p.Reason
}

// processes are lines: container, port and refusal of each.
func (s *story) processes() []string {
	s.t.Helper()
	var lines []string
	for _, p := range s.attachment(s.pod).Status.Processes {
		line := fmt.Sprintf("%s %d %s", p.Container, p.Port, left(&p))
		if p.Adopted {
			line += "adopted"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func (s *story) message(condition string) string {
	s.t.Helper()
	c := meta.FindStatusCondition(s.attachment(s.pod).Status.Conditions, condition)
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// withWorker is a pod with a second container that has a JVM too.
func withWorker() *podBuilder { return aPod("app-0").container("worker", aJVM(javaStartTime+1)) }

// Which port each JVM of a pod serves, and what a change of the port changes.
func TestPortsOfSeveral(t *testing.T) {
	cases := map[string]struct {
		pod     func() *podBuilder
		port    int32
		busy    []int32
		want    []string
		changed int32 // the exporter's port to be; none if 0
		then    []string
	}{
		"one named, one chosen":     {pod: withWorker, port: 9400, want: []string{"9400", "9404"}},
		"none named":                {pod: withWorker, want: []string{"9404", "9405"}},
		"a single JVM, none named":  {pod: func() *podBuilder { return aPod("app-0") }, want: []string{"9404"}},
		"the first choice is taken": {pod: withWorker, port: 9400, busy: []int32{9404, 9405}, want: []string{"9400", "9406"}},
		"the named is the first":    {pod: withWorker, port: 9404, want: []string{"9404", "9405"}},
		"three": {
			pod:  func() *podBuilder { return withWorker().container("third", aJVM(javaStartTime+2)) },
			port: 9400, want: []string{"9400", "9404", "9405"},
		},
		"in one container": {
			pod: func() *podBuilder {
				p := aPod("app-0")
				second := aJVM(javaStartTime + 1)
				second.PID++
				p.jvms["app"] = append(p.jvms["app"], second)
				return p
			},
			port: 9400, want: []string{"9400", "9404"},
		},
		"another is named":            {pod: withWorker, port: 9400, want: []string{"9400", "9404"}, changed: 9500, then: []string{"9500", "9404"}},
		"one is named where none was": {pod: withWorker, want: []string{"9404", "9405"}, changed: 9500, then: []string{"9500", "9405"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := tc.pod()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(pod)
			s.container(s.pod).busy = tc.busy
			s.configure(rules)
			s.exporter = s.anExporter("exporter")
			s.exporter.Spec.Port = tc.port
			create(t, s.exporter)
			o.settle()
			s.areAnnotated(tc.want...)
			if tc.changed != 0 {
				change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = tc.changed })
				o.settle()
				s.areAnnotated(tc.then...)
			}
			s.prove(o)
			if o.did(); o.settle() != 0 || o.count() > 0 {
				t.Errorf("at rest it did %q", o.did())
			}
		})
	}
}

// One of two JVMs does not come through: the other does, at once. The pod is as far
// as the first, unless that needs a person.
func TestOneOfSeveral(t *testing.T) {
	cases := map[string]struct {
		wrong func(*jvm)
		first string // after one try
		want  []string
		event string
	}{
		"refuses":           {func(j *jvm) { j.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Off."} }, "Annotated", []string{"app 9400", "worker 0 AttachDisabled"}, ""},
		"cannot be loaded":  {func(j *jvm) { j.fault = fault(v1alpha1.ReasonMissingModule) }, "Annotated", []string{"app 9400", "worker 0 MissingModule"}, ""},
		"fails on and on":   {func(j *jvm) { j.fault = fault(v1alpha1.ReasonAttachTimeout) }, "Staged AttachTimeout", []string{"app 9400", "worker 0 AttachTimeout"}, "AttachTimeout"},
		"starts for ever":   {func(j *jvm) { j.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."} }, "JavaFound JVMStarting", []string{"app 9400", "worker 0 JVMStarting"}, ""},
		"rejects the rules": {func(j *jvm) { j.fault = fault(v1alpha1.ReasonConfigRejected) }, "Staged ConfigRejected", []string{"app 9400", "worker 0 ConfigRejected"}, "ConfigRejected"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(withWorker())
			tc.wrong(s.containers.get(s.pod.UID, "worker").jvms[0])
			s.exporter = s.export("exporter")
			o.settle()
			if got := phaseOf(s.attachment(s.pod)); got != tc.first {
				t.Errorf("at first the pod is %s, not %s", got, tc.first)
			}
			o.tire()
			if diff := cmp.Diff(tc.want, s.processes()); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
			if j := s.jvm(s.pod); j.loads != 1 {
				t.Errorf("into the other the agent was loaded %d times", j.loads)
			}
			if name == "rejects the rules" {
				if got := phaseOf(s.attachment(s.pod)); got != tc.first {
					t.Errorf("in the end the pod is %s", got)
				}
				return
			}
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) {
				t.Errorf("published is %q", got)
			}
			if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
				t.Errorf("annotated is port %q", got)
			}
			get(t, s.exporter)
			if ready := meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady); ready != (tc.first == "Annotated") {
				t.Errorf("the exporter is Ready: %t", ready)
			}
			if tc.event != "" {
				if events := o.events.with(tc.event); len(events) == 0 || !strings.HasPrefix(events[0].Note, "Container worker, process 7: ") {
					t.Errorf("of Events there are %v", events)
				}
			}
		})
	}
}

// One of two containers is replaced: the other JVM's endpoint stands, and the
// annotations name it.
func TestOneOfSeveralIsReplaced(t *testing.T) {
	for gone, left := range map[string]string{"app": "9404", "worker": "9400"} {
		t.Run(gone, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, withWorker(), nil)
			s.areAnnotated("9400", "9404")
			s.changeStatus(s.pod, func(status *corev1.PodStatus) {
				for i := range status.ContainerStatuses {
					if status.ContainerStatuses[i].Name == gone {
						status.ContainerStatuses[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
					}
				}
			})
			s.containers.start(s.pod.UID, gone)
			s.containers.fail(helperapi.VerbInspect, v1alpha1.ReasonExecFailed)
			for range 3 {
				_, _ = o.round()
			}
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, left) {
				t.Errorf("published is %q", got)
			}
			scraped := s.annotations(s.pod)["prometheus.io/port"]
			if scraped != left { // of the JVM that is left
				t.Errorf("the annotation names port %q", scraped)
			}

			s.containers.mend()
			o.outlast()
			// The only one there is now keeps its port.
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, left) {
				t.Errorf("with one JVM, published is %q", got)
			}
			if got := s.annotations(s.pod)["prometheus.io/port"]; got != left {
				t.Errorf("with one JVM, the annotation names %q", got)
			}
			s.changeStatus(s.pod, func(status *corev1.PodStatus) {
				for i := range status.ContainerStatuses {
					if status.ContainerStatuses[i].Name == gone {
						status.ContainerStatuses[i] = running(gone)
					}
				}
			})
			s.containers.start(s.pod.UID, gone, aJVM(javaStartTime+9))
			o.outlast()
			s.areAnnotated("9400", "9404") // the new one is where the other was, and that stays where it is
			for _, name := range []string{"app", "worker"} {
				if j := s.containers.get(s.pod.UID, name).jvms[0]; j.loads != 1 || !j.running() {
					t.Errorf("into %s the agent was loaded %d times", name, j.loads)
				}
			}
			if got := strings.Count(s.endpoints(s.exporter), "app-0"); got != 2 {
				t.Errorf("published is %q", s.endpoints(s.exporter))
			}
		})
	}
}

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

// The exporter's port is promised to the first JVM, also while that cannot be
// attached to yet: the second does not choose it.
func TestPromisedPort(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(withWorker())
	s.jvm(s.pod).fault = fault(v1alpha1.ReasonAttachTimeout)
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	s.exporter.Spec.Port = helperapi.FirstPort
	create(t, s.exporter)
	o.settle()
	s.jvm(s.pod).fault = nil
	o.outlast()
	s.areAnnotated("9404", "9405")
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
		s.later(time.Minute)
	}
	if got := s.message("JavaFound"); !strings.Contains(got, "The agent in container worker, process 7 is not stopped yet: AttachTimeout.") {
		t.Errorf("it says %s", got)
	}
	worker.stays = nil
	o.outlast()
	if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) || worker.unloads != 1 {
		t.Errorf("published is %q; the agent was stopped %d times", got, worker.unloads)
	}
}

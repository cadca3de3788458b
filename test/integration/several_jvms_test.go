package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// All containers and JVMs are recorded, and attached to if possible; a container without
// Java or shell is no reason to refuse the pod. The first JVM gets the port of the
// exporter, the others choose theirs.
func TestSeveralContainers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	off := aJVM(javaStartTime + 1)
	off.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Attaching is off."}
	pod := c.run(aPod("app-0").without("app").container("sidecar").container("off", off).container("second", aJVM(javaStartTime+2), aJVM(javaStartTime+3)))
	c.containers.Get(pod.UID, "sidecar").Fault = fault(v1alpha1.ReasonNoShell)
	c.export("exporter")
	o.settle()

	a := c.attachment(pod)
	if got := phaseOf(a); got != "Annotated" {
		t.Fatalf("phase of %s: got %q, want %q", pod.Name, got, "Annotated")
	}
	var found []string
	for _, p := range a.Status.Processes {
		found = append(found, fmt.Sprintf("%s %d %s", p.Container, p.Port, left(&p)))
	}
	if diff := cmp.Diff([]string{"second 9400 ", "second 9404 ", "off 0 AttachDisabled"}, found); diff != "" {
		t.Errorf("processes in the status (-want +got):\n%s", diff)
	}
	second := c.containers.Get(pod.UID, "second")
	if off.Loads != 0 || second.JVMs[0].Loads != 1 || second.JVMs[1].Loads != 1 {
		t.Errorf("the agent was not loaded into exactly the two JVMs of second")
	}
}

// One of two JVMs fails, and the other succeeds at once. The phase of the pod is that of the
// failing JVM, unless it needs a person.
func TestOneOfSeveral(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		wrong func(*jvm)
		first string // phase after one try
		want  []string
		event string
	}{
		"a JVM refuses agents":          {func(j *jvm) { j.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Off."} }, "Annotated", []string{"app 9400", "worker 0 AttachDisabled"}, ""},
		"a JVM cannot load the agent":   {func(j *jvm) { j.Fault = fault(v1alpha1.ReasonMissingModule) }, "Annotated", []string{"app 9400", "worker 0 MissingModule"}, ""},
		"a JVM fails repeatedly":        {func(j *jvm) { j.Fault = fault(v1alpha1.ReasonAttachTimeout) }, "Staged AttachTimeout", []string{"app 9400", "worker 0 AttachTimeout"}, "AttachTimeout"},
		"a JVM never finishes starting": {func(j *jvm) { j.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."} }, "JavaFound JVMStarting", []string{"app 9400", "worker 0 JVMStarting"}, ""},
		"a JVM rejects the rules":       {func(j *jvm) { j.Fault = fault(v1alpha1.ReasonConfigRejected) }, "Staged ConfigRejected", []string{"app 9400", "worker 0 ConfigRejected"}, "ConfigRejected"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(withWorker())
			tc.wrong(s.containers.Get(s.pod.UID, "worker").JVMs[0])
			s.exporter = s.export("exporter")
			o.settle()
			if got := phaseOf(s.attachment(s.pod)); got != tc.first {
				t.Errorf("phase of %s after one try: got %q, want %q", s.pod.Name, got, tc.first)
			}
			o.tire()
			if diff := cmp.Diff(tc.want, s.processes()); diff != "" {
				t.Errorf("processes in the status (-want +got):\n%s", diff)
			}
			if j := s.jvm(s.pod); j.Loads != 1 {
				t.Errorf("loads of the agent in the other JVM: got %d, want 1", j.Loads)
			}
			if name == "a JVM rejects the rules" {
				if got := phaseOf(s.attachment(s.pod)); got != tc.first {
					t.Errorf("phase of %s in the end: got %q, want %q", s.pod.Name, got, tc.first)
				}
				return
			}
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:9400", s.pod.Status.PodIP) {
				t.Errorf("endpoints of the exporter: got %q, want app-0 on port 9400 only", got)
			}
			if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
				t.Errorf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, got, "9400")
			}
			get(t, s.exporter)
			if ready := meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady); ready != (tc.first == "Annotated") {
				t.Errorf("Ready of the exporter: got %t, want %t", ready, tc.first == "Annotated")
			}
			if tc.event != "" {
				if events := o.events.with(tc.event); len(events) == 0 || !strings.HasPrefix(events[0].Note, "Container worker, process 7: ") {
					t.Errorf("unexpected Events: %v", events)
				}
			}
		})
	}
}

// One of two containers is replaced: the other JVM's endpoint is kept, and the annotations
// name it.
func TestOneOfSeveralIsReplaced(t *testing.T) {
	t.Parallel()
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
			s.containers.Start(s.pod.UID, gone)
			s.containers.Fail(helperapi.VerbInspect, v1alpha1.ReasonExecFailed)
			for range 3 {
				_, _ = o.round()
			}
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, left) {
				t.Errorf("endpoints of the exporter: got %q, want app-0 on port %s only", got, left)
			}
			scraped := s.annotations(s.pod)["prometheus.io/port"]
			if scraped != left { // of the remaining JVM
				t.Errorf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, scraped, left)
			}

			s.containers.Mend()
			o.outlast()
			// The only remaining JVM keeps its port.
			if got := s.endpoints(s.exporter); got != fmt.Sprintf("app-0 %s:%s", s.pod.Status.PodIP, left) {
				t.Errorf("endpoints with one JVM: got %q, want app-0 on port %s only", got, left)
			}
			if got := s.annotations(s.pod)["prometheus.io/port"]; got != left {
				t.Errorf("prometheus.io/port with one JVM: got %q, want %q", got, left)
			}
			s.changeStatus(s.pod, func(status *corev1.PodStatus) {
				for i := range status.ContainerStatuses {
					if status.ContainerStatuses[i].Name == gone {
						status.ContainerStatuses[i] = running(gone)
					}
				}
			})
			s.containers.Start(s.pod.UID, gone, aJVM(javaStartTime+9))
			o.outlast()
			s.areAnnotated("9400", "9404") // the new JVM gets the old port, and the other keeps its own
			for _, name := range []string{"app", "worker"} {
				if j := s.containers.Get(s.pod.UID, name).JVMs[0]; j.Loads != 1 || !j.Running() {
					t.Errorf("loads of the agent in %s: got %d, want 1 that runs", name, j.Loads)
				}
			}
			if got := strings.Count(s.endpoints(s.exporter), "app-0"); got != 2 {
				t.Errorf("endpoints of the exporter: got %q, want two of app-0", s.endpoints(s.exporter))
			}
		})
	}
}

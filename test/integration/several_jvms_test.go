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

// Several containers and JVMs: all are recorded, and attached to if they can be;
// one without Java or shell is no reason to refuse. The first has the port of the
// exporter, the others are told to choose.
func TestSeveralContainers(t *testing.T) {
	c := newCluster(t)
	o := c.operate()
	off := aJVM(javaStartTime + 1)
	off.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled, Message: "Attaching is off."}
	pod := c.run(aPod("app-0").without("app").container("sidecar").container("off", off).container("second", aJVM(javaStartTime+2), aJVM(javaStartTime+3)))
	c.containers.get(pod.UID, "sidecar").fault = fault(v1alpha1.ReasonNoShell)
	c.export("exporter")
	o.settle()

	a := c.attachment(pod)
	if got := phaseOf(a); got != "Annotated" {
		t.Fatalf("the pod is %s", got)
	}
	var found []string
	for _, p := range a.Status.Processes {
		found = append(found, fmt.Sprintf("%s %d %s", p.Container, p.Port, left(&p)))
	}
	if diff := cmp.Diff([]string{"second 9400 ", "second 9404 ", "off 0 AttachDisabled"}, found); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	second := c.containers.get(pod.UID, "second")
	if off.loads != 0 || second.jvms[0].loads != 1 || second.jvms[1].loads != 1 {
		t.Errorf("the wrong JVMs were attached to")
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
					t.Errorf("unexpected Events: %v", events)
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

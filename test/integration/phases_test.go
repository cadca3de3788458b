package integration

import (
	stdcmp "cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// annotatedBy are the annotations of a pod that is Annotated, as are its own.
func annotatedBy(attachment *v1alpha1.JmxAttachment, port string) map[string]string {
	return map[string]string{
		"prometheus.io/scrape": "true", "prometheus.io/port": port, "prometheus.io/path": "/metrics",
		"banzaicloud.com/jmx-attachment": attachment.Name,
	}
}

// prove lets as much time pass as it takes the attach to prove harmless.
func (s *story) prove(o *operator) {
	s.t.Helper()
	s.later(2 * time.Minute)
	o.settle()
}

// annotated is a pod that has come all the way, and some time ago.
func annotated(t *testing.T) (*story, *operator) {
	t.Helper()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	o.settle()
	s.isAnnotated("9400")
	if t.Failed() {
		t.FailNow()
	}
	s.prove(o)
	o.did()
	s.containers.called()
	return s, o
}

func phaseOf(a *v1alpha1.JmxAttachment) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s", a.Status.Phase, a.Status.Reason), " ")
}

// Every phase that rests on the record alone is persisted before the next effect
// begins, and the intent to load before the load.
func TestForward(t *testing.T) {
	c := newCluster(t)
	o := c.operate()
	pod := c.run(aPod("app-0"))
	exporter := c.export("exporter")
	var way []string
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		line := strings.ReplaceAll(fmt.Sprintf("%s %s", effect.Kind, effect.What), "jmx-exporter-operator/", "")
		if a := c.attachment(pod); a != nil {
			line = phaseOf(a) + ": " + line
			if p := a.Status.Processes; len(p) > 0 && p[0].Intent != nil {
				line = "intent, " + line
			}
		}
		way = append(way, line)
		return do()
	}
	if again := o.settle(); again != 5*time.Second {
		t.Errorf("a canary that is Annotated is looked at again in %s, not when it has proven itself", again)
	}
	want := []string{
		"apply endpoints", // the Service
		"apply attachment",
		": apply exporter-status",
		": apply attachment-status",
		"Discovered NotReached: exec inspect",
		"Discovered NotReached: apply attachment-status",
		"JavaFound RolloutPending: apply attachment", // the grant
		"JavaFound RolloutPending: apply exporter-status",
		"JavaFound RolloutPending: apply attachment-status",
		"JavaFound NotReached: exec inspect",
		"JavaFound NotReached: exec stage",
		"JavaFound NotReached: apply attachment-status", // with the intent
		"intent, Staged NotReached: exec load",
		"intent, Staged NotReached: http probe",
		"intent, Staged NotReached: apply attachment-status",
		"intent, Loaded EndpointPending: apply endpoints", // the slice
		"intent, Loaded EndpointPending: apply exporter-status",
		"intent, Loaded EndpointPending: apply pod-annotations",
		"intent, Loaded EndpointPending: apply attachment-status",
		"intent, Annotated: apply exporter-status",
	}
	if diff := cmp.Diff(want, way); diff != "" {
		t.Errorf("phase and reason, and then the effect (-want +got):\n%s", diff)
	}
	(&story{c, pod, exporter}).isAnnotated("9400")

	o.did()
	c.later(5 * time.Second)
	if again := o.settle(); again != 0 || o.count() > 0 {
		t.Errorf("a pod that is Annotated is looked at again in %s, and it did %q", again, o.did())
	}

	a, config := c.attachment(pod), transport.NewBlob("", []byte(rules), "").SHA256
	process := v1alpha1.JavaProcess{
		Container: "app", ContainerID: pod.Status.ContainerStatuses[0].ContainerID, PID: javaPID, StartTime: javaStartTime,
		UID: 1000, GID: 1000, VM: "HotSpot", Vendor: "Eclipse Adoptium", Version: "17.0.15", MainClass: "com.example.Main",
		Port: port, Primary: true, Phase: v1alpha1.PhaseExposed, AgentVersion: "1.0.0", Identity: (&story{cluster: c}).jvm(pod).identity, ConfigSHA256: config, ImplementationSHA256: artifacts.Implementation.SHA256,
		Staged: &v1alpha1.StagedFiles{
			AgentSHA256: artifacts.Agent.SHA256, ImplementationSHA256: artifacts.Implementation.SHA256, ConfigSHA256: config,
		},
		Intent: &v1alpha1.LoadIntent{
			Port: port, ConfigSHA256: config, ImplementationSHA256: artifacts.Implementation.SHA256, Time: a.Status.Processes[0].Intent.Time,
		},
		Endpoint: &v1alpha1.Endpoint{Address: pod.Status.PodIP, Port: port, CheckedFrom: v1alpha1.CheckedFromOperator},
	}
	if diff := cmp.Diff([]v1alpha1.JavaProcess{process}, a.Status.Processes); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	if process.Identity == "" {
		t.Error("the agent was told no identity")
	}
	if diff := cmp.Diff([]v1alpha1.MetricsEndpoint{{Pod: "app-0", Container: "app", Port: port}}, exporter.Status.MetricsEndpoints); diff != "" {
		t.Errorf("metricsEndpoints (-want +got):\n%s", diff)
	}
	for _, phase := range v1alpha1.Phases() {
		want := 0
		if phase == v1alpha1.PhaseLoaded || phase == v1alpha1.PhaseAnnotated {
			want = 1
		}
		if events := o.events.with(string(phase)); len(events) != want || want > 0 && events[0].Type != corev1.EventTypeNormal {
			t.Errorf("Events of phase %s: %v", phase, events)
		}
	}
}

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

// What a phase rests on is no longer so, and what comes next does not succeed:
// the phase goes back, and with it goes only what nobody may scrape any more.
// When that is mended, the pod comes all the way again, with one load a JVM.
func TestBackward(t *testing.T) {
	refused := func(owner client.FieldOwner) func(*operator) {
		return func(o *operator) {
			o.fate = func(_ int, effect effects.Effect, do func() error) error {
				if effect.What == string(owner) {
					return errAccident
				}
				return do()
			}
		}
	}
	fails := func(verb helperapi.Verb, reason string) func(*operator) {
		return func(o *operator) { o.containers.fail(verb, reason) }
	}
	cases := map[string]struct {
		event func(*story)
		// next is what does not succeed.
		next func(*operator)
		want string
		// left is what is not withdrawn; endpoint and annotations if empty.
		left string
		// mend ends what does not succeed; nil if that is only next.
		mend func(*story)
		// port is the one in the end, if another than before.
		port string
	}{
		"the container is replaced": {
			event: func(s *story) { s.restart(s.pod) },
			next:  fails(helperapi.VerbInspect, v1alpha1.ReasonExecFailed),
			want:  "Discovered ExecFailed", left: "nothing",
		},
		"the container waits to be started again": {
			event: func(s *story) {
				s.changeStatus(s.pod, func(status *corev1.PodStatus) {
					status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
				})
			},
			want: "Discovered ContainerNotRunning", left: "nothing",
			mend: func(s *story) { s.restart(s.pod) },
		},
		"the JVM is gone midway": {
			event: func(s *story) {
				another := aJVM(javaStartTime + 1)
				another.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
				s.container(s.pod).jvms = []*jvm{another}
				s.configure("lowercaseOutputName: true\n" + rules)
			},
			want: "Discovered JVMStarting", left: "nothing",
			mend: func(s *story) { s.jvm(s.pod).Refusal = nil },
		},
		"the configuration changes": {
			event: func(s *story) { s.configure("lowercaseOutputName: true\n" + rules) },
			next:  fails(helperapi.VerbStage, v1alpha1.ReasonNoSpace),
			want:  "JavaFound NoSpace",
		},
		"the port changes": {
			event: func(s *story) {
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
			},
			next: fails(helperapi.VerbLoad, v1alpha1.ReasonPortInUse),
			want: "Staged PortInUse", port: "9500",
		},
		"the address changes": {
			event: func(s *story) {
				s.changeStatus(s.pod, func(status *corev1.PodStatus) {
					status.PodIP, status.PodIPs = "10.9.9.9", []corev1.PodIP{{IP: "10.9.9.9"}}
				})
				s.containers.probe = fault(v1alpha1.ReasonEndpointNotServing)
			},
			want: "Loaded EndpointNotServing", left: "annotations",
		},
		"the slice is deleted by hand": {
			event: func(s *story) { remove(s.t, &s.slices(s.exporter)[0]) },
			next:  refused(records.OwnerEndpoints),
			want:  "Loaded EndpointPending", left: "annotations",
		},
		"the annotation is removed by hand": {
			event: func(s *story) {
				change(s.t, s.pod, func(pod *corev1.Pod) { delete(pod.Annotations, "prometheus.io/scrape") })
			},
			next: refused(records.OwnerPodAnnotations),
			want: "Exposed APIError",
		},
		"the record is deleted by hand": {
			event: func(s *story) { remove(s.t, s.attachment(s.pod)) },
			next:  fails(helperapi.VerbInspect, v1alpha1.ReasonExecFailed),
			want:  "Discovered ExecFailed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := annotated(t)
			tc.event(s)
			if tc.next != nil {
				tc.next(o)
			}
			for range 5 {
				_, _ = o.round() // the next thing fails, as it must here
			}
			if got := phaseOf(s.attachment(s.pod)); got != tc.want {
				t.Errorf("the pod is %s, not %s", got, tc.want)
			}
			left := "nothing"
			switch published, scraped := s.endpoints(s.exporter) != "", s.annotations(s.pod)["prometheus.io/port"] != ""; {
			case published && scraped:
				left = ""
			case published:
				left = "endpoint"
			case scraped:
				left = "annotations"
			}
			if left != tc.left {
				t.Errorf("left is %q, not %q", left, tc.left)
			}

			o.fate = nil
			s.containers.mend()
			if tc.mend != nil {
				tc.mend(s)
			}
			o.outlast()
			s.isAnnotated(stdcmp.Or(tc.port, "9400"))
		})
	}
}

package integration

import (
	stdcmp "cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A condition of a phase no longer holds, and the next step fails: the phase regresses,
// and only what can no longer be scraped is removed. Once the failure is resolved, the pod
// becomes Annotated again, with one load per JVM.
func TestBackward(t *testing.T) {
	t.Parallel()
	refused := func(owner client.FieldOwner) func(*operator) {
		return func(o *operator) {
			o.fate = func(_ int, effect effects.Effect, do func() error) error {
				if effect.What == string(owner) {
					return effectstest.ErrAccident
				}
				return do()
			}
		}
	}
	fails := func(verb helperapi.Verb, reason string) func(*operator) {
		return func(o *operator) { o.containers.Fail(verb, reason) }
	}
	cases := map[string]struct {
		event func(*story)
		// next makes the next step fail.
		next func(*operator)
		want string
		// left is what remains; endpoint and annotations if empty.
		left string
		// mend resolves the failure; nil if only next failed.
		mend func(*story)
		// port is the port in the end, if it changes.
		port string
	}{
		"the container is replaced": {
			event: func(s *story) { s.restart(s.pod) },
			next:  fails(helperapi.VerbInspect, v1alpha1.ReasonExecFailed),
			want:  "Discovered ExecFailed", left: "nothing",
		},
		"the container waits for a restart": {
			event: func(s *story) {
				s.changeStatus(s.pod, func(status *corev1.PodStatus) {
					status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
				})
			},
			want: "Discovered ContainerNotRunning", left: "nothing",
			mend: func(s *story) { s.restart(s.pod) },
		},
		"the JVM exits during the attach": {
			event: func(s *story) {
				another := aJVM(javaStartTime + 1)
				another.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
				s.container(s.pod).JVMs = []*jvm{another}
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
				s.containers.ProbeFault = fault(v1alpha1.ReasonEndpointNotServing)
			},
			want: "Loaded EndpointNotServing", left: "annotations",
		},
		"the EndpointSlice is deleted by a user": {
			event: func(s *story) { remove(s.t, &s.slices(s.exporter)[0]) },
			next:  refused(records.OwnerEndpoints),
			want:  "Loaded EndpointPending", left: "annotations",
		},
		"the annotation is removed by a user": {
			event: func(s *story) {
				change(s.t, s.pod, func(pod *corev1.Pod) { delete(pod.Annotations, "prometheus.io/scrape") })
			},
			next: refused(records.OwnerPodAnnotations),
			want: "Exposed APIError",
		},
		"the JmxAttachment is deleted by a user": {
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
				_, _ = o.round() // the next step fails on purpose
			}
			if got := phaseOf(s.attachment(s.pod)); got != tc.want {
				t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, tc.want)
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
				t.Errorf("remaining: got %q, want %q", left, tc.left)
			}

			o.fate = nil
			s.containers.Mend()
			if tc.mend != nil {
				tc.mend(s)
			}
			o.outlast()
			s.isAnnotated(stdcmp.Or(tc.port, "9400"))
		})
	}
}

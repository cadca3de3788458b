package steps

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// What is found in the containers of a pod, in their order, and what it comes to.
func TestFindJava(t *testing.T) {
	type seen struct {
		report attach.Report
		err    error
	}
	jvm := func(refusal attach.Reason) seen {
		p := attach.Process{Target: attach.Target{PID: 1, StartTime: 7}, Implementation: "HotSpot"}
		if refusal != "" {
			p.Refusal = &attach.Error{Reason: refusal, Message: "No."}
		}
		return seen{report: attach.Report{Processes: []attach.Process{p}}}
	}
	fails := func(reason string) seen { return seen{err: &transport.Error{Reason: reason, Message: "No."}} }
	nothing := seen{}

	cases := map[string]struct {
		reason     string
		containers []seen
		tries      int32
		want       string
	}{
		"JVM":                 {"the plain case", []seen{jvm("")}, 0, v1alpha1.ReasonReached},
		"SidecarWithoutShell": {"a sidecar is no reason to refuse", []seen{jvm(""), fails(v1alpha1.ReasonNoShell)}, 0, v1alpha1.ReasonReached},
		"StartingBesideNoShell": {
			"an entrypoint that has not started its JVM yet is waited for: no event would bring us back",
			[]seen{nothing, fails(v1alpha1.ReasonNoShell)}, 0, v1alpha1.ReasonNoJavaProcess,
		},
		"StartingJVM":         {"a JVM that is starting is waited for", []seen{jvm(attach.ReasonJVMStarting), fails(v1alpha1.ReasonNoShell)}, 9, v1alpha1.ReasonJVMStarting},
		"StartingBeforeJVM":   {"a sidecar's JVM does not take its place", []seen{jvm(attach.ReasonJVMStarting), jvm("")}, 0, v1alpha1.ReasonJVMStarting},
		"StartingForEver":     {"but not for ever", []seen{jvm(attach.ReasonJVMStarting), jvm("")}, patience, v1alpha1.ReasonReached},
		"BrokenExecBeforeJVM": {"nor for an exec that broke off", []seen{fails(v1alpha1.ReasonExecFailed), jvm("")}, 0, v1alpha1.ReasonExecFailed},
		"QueuedBeforeJVM":     {"a place for the exec is always waited for", []seen{fails(v1alpha1.ReasonQueued), jvm("")}, 99, v1alpha1.ReasonQueued},
		"RefusingJVM":         {"a JVM that refuses decides, whatever else is there", []seen{nothing, fails(v1alpha1.ReasonNoShell), jvm(attach.ReasonAttachDisabled)}, 0, v1alpha1.ReasonAttachDisabled},
		"AllWithoutShell":     {"nobody is left who could start one", []seen{fails(v1alpha1.ReasonNoShell), fails(v1alpha1.ReasonNoShell)}, 0, v1alpha1.ReasonNoShell},
		"NoJava":              {"it may still come", []seen{nothing, nothing}, 0, v1alpha1.ReasonNoJavaProcess},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &Scope{Attachment: &v1alpha1.JmxAttachment{}, Pod: &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{}}
			for i := range tc.containers {
				c := string(rune('a' + i))
				s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: c})
				s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
					Name: c, ContainerID: "containerd://" + c, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				})
			}
			if tc.tries > 0 {
				s.Status().Attempt = &v1alpha1.Attempt{Phase: v1alpha1.PhaseJavaFound, Count: tc.tries}
			}
			helper := transport.HelperFunc(func(_ context.Context, in transport.Container, _ attach.Verb, _ attach.Request, _ ...transport.Blob) (*attach.Report, error) {
				c := tc.containers[in.Name[0]-'a']
				return &c.report, c.err
			})
			got := FindJava{Helper: helper}.Ensure(t.Context(), s)
			if got.Reason != tc.want {
				t.Errorf("%s: %s (%s), want %s", tc.reason, got.Reason, got.Message, tc.want)
			}
		})
	}
}

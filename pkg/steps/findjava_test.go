package steps

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// One of two containers cannot be looked into any more: what is known of it stays
// in the record, and no agent is stopped.
func TestFindJavaBesideOneThatCannotBeSeen(t *testing.T) {
	fails := func(reason string) error { return &transport.Error{Reason: reason, Message: "No."} }
	for name, tc := range map[string]struct {
		err   error
		tries int32
		want  string
	}{
		"for good":                {fails(v1alpha1.ReasonNoShell), 0, v1alpha1.ReasonReached},
		"at first":                {fails(v1alpha1.ReasonExecFailed), 0, v1alpha1.ReasonExecFailed},
		"again and again":         {fails(v1alpha1.ReasonExecFailed), patience, v1alpha1.ReasonReached},
		"for want of a place":     {fails(v1alpha1.ReasonQueued), 99, v1alpha1.ReasonQueued},
		"for an unknown reason":   {errors.New("EOF"), patience, v1alpha1.ReasonReached},
		"since exec is forbidden": {fails(v1alpha1.ReasonExecForbidden), patience, v1alpha1.ReasonReached},
	} {
		t.Run(name, func(t *testing.T) {
			serving := func(container string, port int32) v1alpha1.JavaProcess {
				p := aProcess(container, port)
				p.Intent = &v1alpha1.LoadIntent{Port: port}
				p.Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: port}
				return p
			}
			app, worker := serving("app", 9400), serving("worker", 9404)
			app.First, app.AgentFound = true, true
			s := aScope(app, worker)
			s.runs("new") // why they are looked into
			s.Status().Attempt = &v1alpha1.Attempt{Phase: v1alpha1.PhaseJavaFound, Count: tc.tries}
			var ran []attach.Verb
			helper := transport.HelperFunc(func(_ context.Context, in transport.Container, verb attach.Verb, _ attach.Request, _ ...transport.Blob) (*attach.Report, error) {
				ran = append(ran, verb)
				switch in.Name {
				case "worker":
					return nil, tc.err
				case "new":
					return &attach.Report{}, nil
				}
				return &attach.Report{Processes: []attach.Process{{
					Target: attach.Target{PID: 7, StartTime: 11}, Mark: &attach.Mark{State: attach.AgentRunning, Port: 9400},
				}}}, nil
			})
			got := FindJava{Helper: helper}.Ensure(t.Context(), s)
			if got.Reason != tc.want {
				t.Errorf("it comes to %s: %s", got.Reason, got.Message)
			}
			if slices.Contains(ran, attach.VerbUnload) {
				t.Errorf("run was %v", ran)
			}
			if diff := cmp.Diff([]v1alpha1.JavaProcess{app, worker}, s.Status().Processes); diff != "" {
				t.Errorf("the record (-want +got):\n%s", diff)
			}
		})
	}
}

// An agent that cannot be stopped keeps the record as it is.
func TestFindJavaUnloadFails(t *testing.T) {
	app := aProcess("app", 9400)
	app.Intent = &v1alpha1.LoadIntent{Port: 9400}
	s := aScope(app)
	s.runs("new")
	helper := transport.HelperFunc(func(_ context.Context, in transport.Container, verb attach.Verb, request attach.Request, _ ...transport.Blob) (*attach.Report, error) {
		switch {
		case verb == attach.VerbUnload:
			if *request.Target != (attach.Target{PID: 7, StartTime: 11}) || in.Name != "app" {
				t.Errorf("unloaded is %+v in %s", request.Target, in.Name)
			}
			return nil, &transport.Error{Reason: v1alpha1.ReasonAttachTimeout, Message: "No."}
		case in.Name == "app":
			return &attach.Report{Processes: []attach.Process{{Target: attach.Target{PID: 7, StartTime: 11}, Excluded: true}}}, nil
		}
		return &attach.Report{}, nil
	})
	got := FindJava{Helper: helper}.Ensure(t.Context(), s)
	if got.Reason != v1alpha1.ReasonAttachTimeout || s.Status().Inspected != nil || s.Status().Processes[0].Refusal != "" {
		t.Errorf("it comes to %s; the record is %+v", got.Reason, s.Status())
	}
}

// An application is left to start before anybody looks into its container.
func TestJustStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration
		want bool
	}{
		"now":              {0, true},
		"a moment ago":     {minAge - time.Second, true},
		"long enough ago":  {minAge, false},
		"by another clock": {-time.Second, false},
	} {
		s := aScope()
		s.runs("app")
		s.Now = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
		s.Pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.Now.Add(-tc.age))
		if got := s.justStarted(running(s.Pod)[0]); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	s := aScope()
	s.runs("app")
	if s.Now = metav1.Now(); s.justStarted(running(s.Pod)[0]) {
		t.Error("one that does not say when")
	}
}

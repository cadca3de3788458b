package attachment

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

const revision = "new"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// aScope is a pod with one container, app, which runs, and the JVM in it.
func aScope() *steps.Scope {
	s := &steps.Scope{
		Attachment: &v1alpha1.JmxAttachment{}, Pod: &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{}, Now: metav1.NewTime(start),
	}
	s.Attachment.Spec.Revision = revision
	s.Exporter.Status.Revision = revision
	s.Pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	s.Status().Processes = []v1alpha1.JavaProcess{{Container: "app", ContainerID: "containerd://1", PID: 7, StartTime: 11}}
	return s
}

// Which steps may be taken, and why not.
func TestGate(t *testing.T) {
	granted := func(s *steps.Scope) { s.Granted = true }
	published := func(s *steps.Scope) { s.Published = []steps.PublishedEndpoint{{Address: "10.0.0.1", Port: 9400}} }
	looked := func(s *steps.Scope) { s.Status().Inspected = &v1alpha1.Inspected{} }
	attached := func(s *steps.Scope) { s.Status().Processes[0].Port = 9400 }
	restarted := func(of string) func(*steps.Scope) {
		return func(s *steps.Scope) {
			s.Granted = true
			s.Status().Restart = &v1alpha1.Restart{Revision: of, Message: "It ended."}
		}
	}
	halted := func(of string) func(*steps.Scope) {
		return func(s *steps.Scope) { s.Exporter.Status.Halt = &v1alpha1.Halt{Revision: of} }
	}
	suspended := func(s *steps.Scope) { s.Exporter.Spec.Suspend = true }
	broken := func(s *steps.Scope) { s.Config.Problem = &steps.Problem{Reason: v1alpha1.ReasonConfigNotYAML} }
	all := func(reason string) []string {
		return []string{"JavaFound " + reason, "Staged " + reason, "Loaded " + reason}
	}
	cases := map[string]struct {
		how  []func(*steps.Scope)
		want []string
	}{
		"its turn":                           {how: []func(*steps.Scope){granted}},
		"not its turn":                       {want: all("RolloutPending")},
		"not its turn, and it serves":        {how: []func(*steps.Scope){attached}, want: all("RolloutPending")[:2]},
		"suspended":                          {how: []func(*steps.Scope){suspended}, want: all("Suspended")},
		"suspended, and broken":              {how: []func(*steps.Scope){suspended, broken}, want: all("Suspended")},
		"broken, and it serves":              {how: []func(*steps.Scope){broken, attached}, want: all("ConfigNotYAML")[:2]},
		"a new record of what serves":        {how: []func(*steps.Scope){published}, want: all("RolloutPending")[1:]},
		"… that was looked into":             {how: []func(*steps.Scope){published, looked}, want: all("RolloutPending")},
		"halted":                             {how: []func(*steps.Scope){halted(revision)}, want: all("RolloutHalted")},
		"another rollout was halted":         {how: []func(*steps.Scope){halted("old")}, want: all("RolloutPending")},
		"halted and suspended":               {how: []func(*steps.Scope){halted(revision), suspended}, want: all("Suspended")},
		"it restarted":                       {how: []func(*steps.Scope){restarted(revision)}, want: all("RestartedAfterAttach")},
		"it restarted, and the other serves": {how: []func(*steps.Scope){restarted(revision), attached}, want: all("RestartedAfterAttach")[:2]},
		"it restarted with another revision": {how: []func(*steps.Scope){restarted("old")}},
		"the stock exporter, not its turn": {
			how:  []func(*steps.Scope){func(s *steps.Scope) { s.Status().Processes[0].Adopted = true }},
			want: all("RolloutPending")[:2],
		},
	}
	for name, tc := range cases {
		s := aScope()
		for _, how := range tc.how {
			how(s)
		}
		var got []string
		for _, step := range steps.All(nil, nil, nil, nil) {
			if closed := (&walk{scope: s}).gate(step); closed != nil {
				got = append(got, fmt.Sprintf("%s %s", step.Phase(), closed.Reason))
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What counts as a restart after an attach, and what it says.
func TestRestartOf(t *testing.T) {
	const window = time.Minute
	ended := func(s *steps.Scope, at time.Duration) {
		s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2"
		s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(start.Add(at)),
		}
	}
	// beside is process 8, which is gone, next to one that is not.
	beside := func(container, id string) func(*steps.Scope) {
		return func(s *steps.Scope) {
			s.Status().Processes[0].PID = 8
			s.Status().Processes = append(s.Status().Processes, v1alpha1.JavaProcess{Container: container, ContainerID: id, PID: 7, StartTime: 11})
		}
	}
	cases := map[string]struct {
		intent time.Duration // when the attach began, against now
		none   bool          // no attach at all
		how    func(*steps.Scope)
		want   string
	}{
		"nothing is gone":          {intent: -time.Second, how: func(*steps.Scope) {}},
		"its container is another": {intent: -3 * time.Second, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2" }, want: "Container app ended 3s after an attach."},
		"and says how it ended":    {intent: -time.Hour, how: func(s *steps.Scope) { ended(s, -time.Hour+2*time.Second) }, want: "Container app ended 2s after an attach: exit code 137, OOMKilled."},
		"done, as it is meant to be": {intent: -time.Hour, how: func(s *steps.Scope) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}},
		"done, and started again": {intent: -time.Hour, how: func(s *steps.Scope) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}, want: "Container app ended 2s after an attach: exit code 0, OOMKilled."},
		"it waits":                  {intent: -3 * time.Second, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses[0].State = corev1.ContainerState{} }, want: "Container app ended 3s after an attach."},
		"on another clock":          {intent: -time.Second, how: func(s *steps.Scope) { s.Status().Processes[0].Port = 9400; ended(s, -5*time.Second) }, want: "Container app ended 0s after an attach: exit code 137, OOMKilled."},
		"before it was loaded into": {intent: -time.Second, how: func(s *steps.Scope) { ended(s, -5*time.Second) }},
		"at the end of the window":  {intent: -window, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }},
		"just before it":            {intent: time.Second - window, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }, want: "Container app ended 59s after an attach."},
		"it never was attached to":  {none: true, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }},
		"it is adopted":             {intent: -time.Second, how: func(s *steps.Scope) { s.Status().Processes[0].Adopted = true; s.Pod.Status.ContainerStatuses = nil }},
		"a tool beside it is done":  {intent: -4 * time.Second, how: beside("app", "containerd://1")},
		"but the first is no tool":  {intent: -4 * time.Second, how: func(s *steps.Scope) { beside("app", "containerd://1")(s); s.Status().Processes[0].First = true }, want: "Java process 8 in container app ended 4s after an attach."},
		"beside its launcher": {intent: -4 * time.Second, how: func(s *steps.Scope) {
			beside("app", "containerd://1")(s)
			s.Status().Processes[1].Refusal = v1alpha1.RefusalExcluded
		}, want: "Java process 8 in container app ended 4s after an attach."},
		"in another container too":  {intent: -4 * time.Second, how: beside("worker", "containerd://9"), want: "Java process 8 in container app ended 4s after an attach."},
		"beside one of long ago":    {intent: -4 * time.Second, how: beside("app", "containerd://0"), want: "Java process 8 in container app ended 4s after an attach."},
		"with its whole container":  {intent: -4 * time.Second, how: func(s *steps.Scope) { beside("app", "containerd://1")(s); s.Pod.Status.ContainerStatuses = nil }, want: "Container app ended 4s after an attach."},
		"the process alone is gone": {intent: -4 * time.Second, how: func(s *steps.Scope) { s.Status().Processes[0].PID = 8 }, want: "Java process 8 in container app ended 4s after an attach."},
	}
	for name, tc := range cases {
		s := aScope()
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: window}
		if !tc.none {
			s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{Time: metav1.NewTime(start.Add(tc.intent))}
		}
		tc.how(s)
		gone := func(p *v1alpha1.JavaProcess) bool { return !steps.Runs(s.Pod, p) || p.PID == 8 }
		got := ""
		if r := restartOf(s, s.Status().Processes, gone); r != nil {
			if got = r.Message; r.Revision != revision || r.Container != "app" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{}
		if r := restartOf(s, s.Status().Processes, gone); r != nil {
			t.Errorf("%s: noted with a window of 0: %+v", name, r)
		}
	}
}

package attachment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

func retryIn(s *steps.Situation, d time.Duration) *v1alpha1.Attempt {
	return &v1alpha1.Attempt{Key: s.Key(), Phase: v1alpha1.PhaseJavaFound, Count: 8, NextTime: new(metav1.NewTime(start.Add(d)))}
}

// withWorker adds a second container with a JVM that is starting, and is due for an
// inspection after a time.
func withWorker(s *steps.Situation, d time.Duration) {
	s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: "worker"})
	s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: "worker", ContainerID: "containerd://2", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	})
	status := s.Status()
	status.Containers = append(status.Containers, v1alpha1.InspectedContainer{Name: "worker", ContainerID: "containerd://2", Time: new(s.Now)})
	status.Processes = append(status.Processes, v1alpha1.JavaProcess{
		Container: "worker", ContainerID: "containerd://2", PID: 7, StartTime: 11,
		Phase: v1alpha1.PhaseDiscovered, Reason: v1alpha1.ReasonJVMStarting, Attempt: retryIn(s, d),
	})
}

// When a pod is reconciled again without an event: never in a hot loop, and always
// when a retry is due.
func TestAttachRequeues(t *testing.T) {
	const minute = time.Minute
	worker := func(d time.Duration) func(*steps.Situation) { return func(s *steps.Situation) { withWorker(s, d) } }
	workerFails := func(d time.Duration) func(*steps.Situation) {
		return func(s *steps.Situation) {
			withWorker(s, -minute)
			s.Status().Containers[1].Reason, s.Status().Containers[1].Attempt = v1alpha1.ReasonExecFailed, retryIn(s, d)
		}
	}
	notGranted := func(s *steps.Situation) { s.Granted = false }
	for name, tc := range map[string]struct {
		how         []func(*steps.Situation)
		worker      func() (*helperapi.Report, error)
		least, most time.Duration
		execs       string
	}{
		"everything is exposed":                               {},
		"a JVM is starting":                                   {how: []func(*steps.Situation){worker(minute)}, least: minute, most: minute},
		"a JVM should have started":                           {how: []func(*steps.Situation){worker(-minute)}, worker: says(v1alpha1.ReasonExecFailed), least: time.Second, most: 3 * time.Second, execs: "worker inspect"},
		"a JVM should have started, and there is no capacity": {how: []func(*steps.Situation){worker(-minute)}, worker: says(v1alpha1.ReasonQueued), least: statemachine.QueuedFor, most: statemachine.QueuedFor, execs: "worker inspect"},
		"a JVM should have started, and its container fails":  {how: []func(*steps.Situation){workerFails(minute)}, least: minute, most: minute},
		"the container failed, and is no longer running":      {how: []func(*steps.Situation){workerFails(-minute), notGranted, func(s *steps.Situation) { s.Pod.Status.ContainerStatuses[1].State.Running = nil }}},
		"the pod became ready just now": {how: []func(*steps.Situation){func(s *steps.Situation) {
			at := metav1.NewTime(start)
			s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at}}
			s.Status().Containers[0].Time = new(metav1.NewTime(at.Add(-minute)))
		}}, least: 30 * time.Second, most: 70 * time.Second},
		"no JVM is found, and the pod waits": {
			how: []func(*steps.Situation){worker(-minute), func(s *steps.Situation) {
				s.Status().Processes = s.Status().Processes[1:]
				s.Status().Phase, s.Status().Reason, s.Status().Attempt = v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting, retryIn(s, minute)
			}},
			least: minute, most: minute,
		},
	} {
		b, s := aBench(), servingPod()
		for _, how := range tc.how {
			how(s)
		}
		b.helper.answers["worker inspect"] = tc.worker
		result, err := b.of(s).attach(t.Context())
		if err != nil || result.RequeueAfter < tc.least || result.RequeueAfter > tc.most {
			t.Errorf("%s: requeue after: got %s, %v; want %s to %s", name, result.RequeueAfter, err, tc.least, tc.most)
		}
		if ran := strings.Join(b.helper.ran, ", "); ran != tc.execs {
			t.Errorf("%s: helper operations: got %q, want %q", name, ran, tc.execs)
		}
	}
}

// A JVM that is refused in a later phase keeps its pod refused for that reason, and is
// not inspected again.
func TestAttachRefused(t *testing.T) {
	b, s := aBench(), servingPod()
	p := &s.Status().Processes[0]
	p.Phase, p.Port, p.Staged, p.Endpoint, p.Intent = v1alpha1.PhaseJavaFound, 0, nil, nil, nil
	s.Status().Phase, s.Status().Reason = v1alpha1.PhaseJavaFound, ""
	b.helper.answers["app inspect"] = says(v1alpha1.ReasonAgentDirectoryNotTrusted)
	for range 2 {
		result, err := b.of(s).attach(t.Context())
		if err != nil || result.RequeueAfter != 0 || s.Status().Phase != v1alpha1.PhaseJavaFound || s.Status().Reason != v1alpha1.ReasonAgentDirectoryNotTrusted {
			t.Errorf("got requeue after %s, %v and phase %s %s", result.RequeueAfter, err, s.Status().Phase, s.Status().Reason)
		}
	}
	if diff := cmp.Diff([]string{"app inspect"}, b.helper.ran); diff != "" {
		t.Errorf("helper operations (-want +got):\n%s", diff)
	}
}

// A container that is inspected again is inspected only once, even if no JVM remains in it,
// and the reason is recorded.
func TestAttachInspectsOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		inspect func() (*helperapi.Report, error)
		want    string
	}{
		"the JVM is gone":      {sees(), "Discovered NoJavaProcess"},
		"the JVM is there":     {sees(helperapi.Process{Target: aTarget, Mark: &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}, AgentJarOpen: true}), "Annotated "},
		"the JVM was replaced": {sees(helperapi.Process{Target: helperapi.Target{PID: 8, StartTime: 12}, Refusal: &helperapi.Error{Reason: helperapi.ReasonAttachDisabled}}), "Discovered AttachDisabled"},
		"the inspection fails": {says(v1alpha1.ReasonExecFailed), "Annotated "},
	} {
		b, s := aBench(), servingPod()
		b.helper.answers["app inspect"] = tc.inspect
		s.InspectAgain("app")
		if _, err := b.of(s).attach(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := fmt.Sprintf("%s %s", s.Status().Phase, s.Status().Reason); got != tc.want {
			t.Errorf("%s: phase: got %s, want %s", name, got, tc.want)
		}
		if ran := strings.Join(b.helper.ran, ", "); ran != "app inspect" {
			t.Errorf("%s: helper operations: got %q, want one inspect", name, ran)
		}
	}
}

// Processes that are no longer selected lose their endpoints, including the stock exporter's,
// and then their agents; after the last one the pod is back in Discovered.
func TestAttachExcludes(t *testing.T) {
	for name, tc := range map[string]struct {
		how  func(*steps.Situation)
		want string
	}{
		"all JVMs are excluded": {func(s *steps.Situation) {
			s.Exporter.Spec.Processes = []v1alpha1.ProcessRule{{Action: "Exclude"}}
		}, "NoProcessIncluded"},
		"the selected container does not exist": {func(s *steps.Situation) {
			s.Exporter.Spec.Containers = []v1alpha1.ContainerName{"other"}
		}, "ContainerNotRunning"},
		"the stock exporter's container is not selected": {func(s *steps.Situation) {
			s.Exporter.Spec.Containers = []v1alpha1.ContainerName{"other"}
			p := &s.Status().Processes[0]
			p.Adopted, p.Intent, p.Staged, p.ConfigSHA256 = true, nil, nil, ""
		}, "ContainerNotRunning"},
	} {
		b, s := aBench(), servingPod()
		tc.how(s)
		b.helper.answers["app inspect"] = sees(helperapi.Process{Target: aTarget, Mark: &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}, AgentJarOpen: true, Excluded: true})
		b.helper.answers["app unload"] = sees()
		for range 2 {
			if _, err := b.of(s).attach(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s.Published = nil
			s.Now = metav1.NewTime(s.Now.Add(time.Hour))
			b.clock.SetTime(s.Now.Time)
		}
		p := s.Status().Processes[0]
		got := fmt.Sprintf("%s excluded %t, agent %t, endpoint %v", s.Status().Reason, p.Excluded, record.MayHaveAgent(&p), p.Endpoint)
		if want := tc.want + " excluded true, agent false, endpoint <nil>"; got != want || s.Status().Phase != v1alpha1.PhaseDiscovered {
			t.Errorf("%s: got %s in %s, want %s", name, got, s.Status().Phase, want)
		}
	}
}

// One JVM does not delay another: each has its own reason.
func TestAttachEachByItself(t *testing.T) {
	b, s := aBench(), servingPod()
	withWorker(s, time.Minute)
	app := &s.Status().Processes[0]
	app.Phase, app.Port, app.ConfigSHA256, app.Endpoint = v1alpha1.PhaseStaged, 0, "", nil
	b.helper.answers["app load"] = sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400, ConfigSHA256: "config"}})
	if _, err := b.of(s).attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range s.Status().Processes {
		got = append(got, fmt.Sprintf("%s %s%s", p.Container, p.Phase, p.Reason))
	}
	want := []string{"app Exposed", "worker DiscoveredJVMStarting"}
	if diff := cmp.Diff(want, got); diff != "" || s.Status().Phase != v1alpha1.PhaseJavaFound || s.Status().Reason != v1alpha1.ReasonJVMStarting {
		t.Errorf("got phase %s %s, processes (-want +got):\n%s", s.Status().Phase, s.Status().Reason, diff)
	}
}

// A JVM is not attached to with another port after the primary one was refused in the same
// reconciliation, while a container is still to be inspected: it may become primary itself.
func TestPrimaryRefusedMeanwhile(t *testing.T) {
	b, s := aBench(), servingPod()
	s.Published, s.Exporter.Spec.Port = nil, 9400
	withWorker(s, time.Minute)
	for i := range s.Status().Processes {
		p := &s.Status().Processes[i]
		p.Phase, p.Reason, p.Attempt = v1alpha1.PhaseStaged, "", nil
		p.Port, p.ConfigSHA256, p.Endpoint, p.Intent = 0, "", nil, nil
		p.Staged = &v1alpha1.StagedFiles{ConfigSHA256: "config"}
	}
	s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: "last"})
	s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: "last", ContainerID: "containerd://3", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	})
	b.helper.answers["last inspect"] = says(v1alpha1.ReasonQueued)
	b.helper.answers["app load"] = says(v1alpha1.ReasonAgentLoadingWarns)
	b.helper.answers["worker load"] = sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentRunning, Port: 9404, ConfigSHA256: "config"}})
	if _, err := b.of(s).attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"last inspect", "app load"}, b.helper.ran); diff != "" || s.Status().Processes[1].Intent != nil {
		t.Errorf("intent %+v, helper operations (-want +got):\n%s", s.Status().Processes[1].Intent, diff)
	}
}

// recording is an EventRecorder that keeps the required fields of Events.
type recording []string

// Eventf implements events.EventRecorder.
func (r *recording) Eventf(_, _ runtime.Object, _, reason, action, _ string, _ ...any) {
	*r = append(*r, action+" "+reason)
}

// The Event of a regress names the phase that was lost, and what the cause has disproved is
// dropped in any phase.
func TestRegress(t *testing.T) {
	for name, tc := range map[string]struct {
		how  func(*steps.Situation)
		want []string
	}{
		"everything holds":             {func(*steps.Situation) {}, nil},
		"the annotations were removed": {func(s *steps.Situation) { s.Status().Phase, s.Status().Reason = v1alpha1.PhaseAnnotated, "" }, []string{"Annotated AnnotationLost"}},
		"the endpoint was removed":     {func(s *steps.Situation) { s.Published = nil }, []string{"Exposed EndpointLost"}},
		"the agent is stopped":         {func(s *steps.Situation) { s.EndpointHealth = finding(s, steps.FindingStopped) }, []string{"Loaded AgentGone"}},
		"the configuration changed":    {func(s *steps.Situation) { s.Config.SHA256 = "other" }, nil}, // it is loaded, with an Event of its own
		"the JVM is gone":              {func(s *steps.Situation) { s.EndpointHealth = finding(s, steps.FindingGone) }, []string{"JavaFound Replaced"}},
		"the agent is stopped before it was exposed": {func(s *steps.Situation) {
			s.EndpointHealth = finding(s, steps.FindingStopped)
			s.Status().Processes[0].Phase = v1alpha1.PhaseStaged
		}, nil},
	} {
		b, s := aBench(), servingPod()
		tc.how(s)
		var recorder recording
		b.Recorder = &recorder
		stopped := s.EndpointHealth[record.Identity(&s.Status().Processes[0])].Finding == steps.FindingStopped
		b.of(s).move(t, steps.Regress)
		if diff := cmp.Diff(tc.want, []string(recorder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if stopped && s.Status().Processes[0].ConfigSHA256 != "" {
			t.Errorf("%s: the stopped agent is still recorded: %+v", name, s.Status().Processes[0])
		}
	}
}

// An agent that is stopped repeatedly is loaded at growing intervals.
func TestAgentIsLostAgainAndAgain(t *testing.T) {
	b, s := aBench(), servingPod()
	b.prober.err = probe.ErrUnreachable
	b.helper.answers["app status"] = sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentStopped}})
	b.helper.answers["app load"] = sees(helperapi.Process{Mark: &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400, ConfigSHA256: "config"}})
	b.Recorder = &recording{}
	var loads []time.Duration
	for since := time.Duration(0); since < 2*time.Hour; since += 10 * time.Second {
		s.Now = metav1.NewTime(start.Add(since))
		b.clock.SetTime(s.Now.Time)
		b.Health.CheckDue(t.Context())
		b.helper.ran = nil
		v := b.of(s)
		v.examine(t.Context())
		if _, err := v.attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, ran := range b.helper.ran {
			if ran == "app load" {
				loads = append(loads, since)
				b.Health.Forget(b.of(s).key()) // it answers: the misses are reset
				b.Health.Track(b.of(s).key(), s.Pod.Status.PodIP, s.Status().Processes)
			}
		}
	}
	if len(loads) < 8 || len(loads) > 20 || loads[len(loads)-1]-loads[len(loads)-2] < statemachine.MaxBackoff {
		t.Errorf("got %d loads in two hours, after %s, want 8 to 20 with growing intervals", len(loads), loads)
	}
}

func finding(s *steps.Situation, f steps.Finding) map[record.ProcessIdentity]steps.Health {
	return map[record.ProcessIdentity]steps.Health{record.Identity(&s.Status().Processes[0]): {Finding: f}}
}

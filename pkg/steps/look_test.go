package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// answering is a Helper that answers by the container and the verb.
type answering map[string]func() (*attach.Report, error)

// Run implements Helper.
func (a answering) Run(_ context.Context, in transport.Container, verb attach.Verb, _ attach.Request, _ ...transport.Blob) (*attach.Report, error) {
	if answer := a[in.Name+" "+string(verb)]; answer != nil {
		return answer()
	}
	return nil, fmt.Errorf("nobody expects %s in container %s", verb, in.Name)
}

func sees(processes ...attach.Process) func() (*attach.Report, error) {
	return func() (*attach.Report, error) { return &attach.Report{Processes: processes}, nil }
}

func says(reason string) func() (*attach.Report, error) {
	return func() (*attach.Report, error) { return nil, &transport.Error{Reason: reason, Message: "No."} }
}

var (
	aTarget   = attach.Target{PID: 7, StartTime: 11}
	isRunning = &attach.Mark{State: attach.AgentRunning, Port: 9400}
	isStopped = &attach.Mark{State: attach.AgentStopped}
)

// What became of a process whose endpoint does not answer.
func TestLook(t *testing.T) {
	for name, tc := range map[string]struct {
		status, probe func() (*attach.Report, error)
		adopted       bool
		want          Sight
	}{
		"it is gone":                         {status: says(v1alpha1.ReasonProcessGone), want: SightGone},
		"its agent serves":                   {status: sees(attach.Process{Mark: isRunning}), want: SightServes},
		"its agent is stopped":               {status: sees(attach.Process{Mark: isStopped}), want: SightStopped},
		"its agent is stopped, the jar open": {status: sees(attach.Process{Mark: isStopped, AgentJarOpen: true}), want: SightStopped},
		"no agent is in it":                  {status: sees(attach.Process{}), want: SightStopped},
		"one is, with a mark not readable":   {status: sees(attach.Process{AgentJarOpen: true}), want: SightUnclear},
		"the exec fails":                     {status: says(v1alpha1.ReasonExecFailed), want: SightUnclear},
		"the container is gone":              {status: says(v1alpha1.ReasonPodGone), want: SightUnclear},
		"nothing is told":                    {status: sees(), want: SightUnclear},
		"adopted, it is gone":                {status: says(v1alpha1.ReasonProcessGone), adopted: true, want: SightGone},
		"adopted, it answers in the pod":     {status: sees(attach.Process{}), probe: sees(), adopted: true, want: SightServes},
		"adopted, it does not":               {status: sees(attach.Process{}), probe: says(v1alpha1.ReasonEndpointNotServing), adopted: true, want: SightSilent},
		"adopted, nobody can ask":            {status: sees(attach.Process{}), probe: says(v1alpha1.ReasonExecFailed), adopted: true, want: SightUnclear},
	} {
		p := aProcess("app", 9400)
		p.Adopted = tc.adopted
		helper := answering{"app status": tc.status, "app probe": tc.probe}
		if got := Look(t.Context(), helper, aScope(p).Pod, &p); got != tc.want {
			t.Errorf("%s: it is %s, want %s", name, got, tc.want)
		}
	}
}

// Whether other processes run than those on record; what cannot be seen does not
// count.
func TestChanged(t *testing.T) {
	other := attach.Process{Target: attach.Target{PID: 8, StartTime: 12}}
	for name, tc := range map[string]struct {
		app, worker func() (*attach.Report, error)
		named       []v1alpha1.ContainerName
		want        bool
		queued      bool
	}{
		"as they were":               {app: sees(attach.Process{Target: aTarget}), worker: sees(attach.Process{Target: aTarget})},
		"one has come":               {app: sees(attach.Process{Target: aTarget}, other), worker: sees(attach.Process{Target: aTarget}), want: true},
		"one was replaced":           {app: sees(other), worker: sees(attach.Process{Target: aTarget}), want: true},
		"one with its PID":           {app: sees(attach.Process{Target: attach.Target{PID: 7, StartTime: 12}}), worker: sees(attach.Process{Target: aTarget}), want: true},
		"one has gone":               {app: sees(attach.Process{Target: aTarget}), worker: sees(), want: true},
		"one cannot be seen":         {app: says(v1alpha1.ReasonExecFailed), worker: sees(attach.Process{Target: aTarget})},
		"neither can":                {app: says(v1alpha1.ReasonExecFailed), worker: says(v1alpha1.ReasonNoShell)},
		"there is no place":          {app: says(v1alpha1.ReasonQueued), worker: sees(other), queued: true},
		"one cannot, one is another": {app: says(v1alpha1.ReasonExecFailed), worker: sees(other), want: true},
		"a container not looked at":  {app: sees(attach.Process{Target: aTarget}), worker: sees(other), named: []v1alpha1.ContainerName{"app"}},
	} {
		s := aScope(aProcess("app", 9400), aProcess("worker", 9404))
		s.Exporter.Spec.Containers = tc.named
		got, err := Changed(t.Context(), answering{"app inspect": tc.app, "worker inspect": tc.worker}, s)
		if got != tc.want || (err != nil) != tc.queued {
			t.Errorf("%s: changed is %t, %v", name, got, err)
		}
	}
}

// Where the record does not know, the agents in a pod are looked for; what cannot
// be looked into for good never had one, what cannot this time is an error.
func TestAgents(t *testing.T) {
	for name, tc := range map[string]struct {
		app, worker func() (*attach.Report, error)
		want        string
		fails       bool
	}{
		"none":                     {app: sees(attach.Process{Target: aTarget}), worker: sees()},
		"one":                      {app: sees(attach.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true}), worker: sees(), want: "app 7 9400"},
		"one that is stopped":      {app: sees(attach.Process{Target: aTarget, Mark: isStopped, AgentJarOpen: true}), worker: sees()},
		"one whose mark is unread": {app: sees(attach.Process{Target: aTarget, AgentJarOpen: true}), worker: sees(), want: "app 7 0"},
		"one beside no shell":      {app: says(v1alpha1.ReasonNoShell), worker: sees(attach.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true}), want: "worker 7 9400"},
		"one beside what fails":    {app: says(v1alpha1.ReasonExecFailed), worker: sees(attach.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true}), want: "worker 7 9400", fails: true},
	} {
		pod := aScope(aProcess("app", 0), aProcess("worker", 0)).Pod
		agents, err := Agents(t.Context(), answering{"app inspect": tc.app, "worker inspect": tc.worker}, pod)
		var got []string
		for _, p := range agents {
			got = append(got, fmt.Sprintf("%s %d %d", p.Container, p.PID, p.Port))
		}
		if joined := strings.Join(got, ", "); joined != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %q, error %v", name, joined, err)
		}
	}
}

// probing is a Prober of which all endpoints answer the same.
type probing struct{ err error }

// Probe implements Prober.
func (p probing) Probe(context.Context, string, int32) error { return p.err }

// Answers implements Prober.
func (probing) Answers(context.Context, *v1alpha1.JavaProcess) error {
	return errors.New("nobody listens here")
}

// What an endpoint that is asked for its metrics for the first time comes to.
func TestExpose(t *testing.T) {
	silent := &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "No."}
	unreachable := &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "No.", Err: ErrUnreachable}
	cases := map[string]struct {
		probe  error
		helper answering
		want   string
		back   bool
		from   v1alpha1.CheckedFrom
		says   string
	}{
		"it answers":                         {want: v1alpha1.ReasonReached, from: v1alpha1.CheckedFromOperator},
		"it answers otherwise":               {probe: silent, helper: answering{"app status": sees(attach.Process{Mark: isRunning})}, want: v1alpha1.ReasonEndpointNotServing},
		"it answers otherwise, unclear":      {probe: silent, want: v1alpha1.ReasonEndpointNotServing},
		"the JVM is gone":                    {probe: silent, helper: answering{"app status": says(v1alpha1.ReasonProcessGone)}, want: v1alpha1.ReasonProcessGone, back: true},
		"unreachable, it answers in the pod": {probe: unreachable, helper: answering{"app probe": sees()}, want: v1alpha1.ReasonReached, from: v1alpha1.CheckedFromPod, says: "cannot reach it"},
		"unreachable, and silent":            {probe: unreachable, helper: answering{"app probe": says(v1alpha1.ReasonEndpointNotServing)}, want: v1alpha1.ReasonEndpointNotServing},
		"unreachable, and the JVM is gone":   {probe: unreachable, helper: answering{"app probe": says(v1alpha1.ReasonEndpointNotServing), "app status": says(v1alpha1.ReasonProcessGone)}, want: v1alpha1.ReasonProcessGone, back: true},
		"unreachable, there is no place":     {probe: unreachable, helper: answering{"app probe": says(v1alpha1.ReasonQueued)}, want: v1alpha1.ReasonQueued},
	}
	for name, tc := range cases {
		s := aScope(aProcess("app", 9400))
		s.Pod.Status.PodIP = "10.0.0.1"
		s.Published = []PublishedEndpoint{{Address: "10.0.0.1", Port: 9400}}
		got := Expose{Helper: tc.helper, Prober: probing{tc.probe}}.Ensure(t.Context(), s)
		p := &s.Status().Processes[0]
		if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: it comes to %s: %s", name, got.Reason, got.Message)
		}
		if (got.Back == statemachine.Replaced) != tc.back || (got.Gone == Identity(p)) != tc.back {
			t.Errorf("%s: it goes back by %q; gone is %v", name, got.Back, got.Gone)
		}
		from := v1alpha1.CheckedFrom("")
		if p.Endpoint != nil {
			from = p.Endpoint.CheckedFrom
		}
		if from != tc.from {
			t.Errorf("%s: it was checked from %q", name, from)
		}
	}
}

// Of a pod's containers those run that the kubelet says run; a sidecar is one.
func TestRuns(t *testing.T) {
	s := aScope(aProcess("app", 0), aProcess("worker", 0))
	runs := func() string {
		var names []string
		for _, name := range []string{"app", "worker"} {
			if p := aProcess(name, 0); Runs(s.Pod, &p) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := runs(); got != "app worker" {
		t.Errorf("%q run", got)
	}
	status := &s.Pod.Status
	s.Pod.Spec.InitContainers = slices.Clone(s.Pod.Spec.Containers[1:])
	s.Pod.Spec.Containers = s.Pod.Spec.Containers[:1]
	status.InitContainerStatuses = slices.Clone(status.ContainerStatuses[1:])
	status.ContainerStatuses = status.ContainerStatuses[:1]
	if got := runs(); got != "app worker" {
		t.Errorf("with a sidecar, %q run", got)
	}
	status.ContainerStatuses[0].ContainerID = "containerd://another"
	if got := runs(); got != "worker" {
		t.Errorf("with app replaced, %q run", got)
	}
	status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	if got := runs(); got != "" {
		t.Errorf("with none running, %q run", got)
	}
}

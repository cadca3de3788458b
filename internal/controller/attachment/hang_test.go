package attachment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// hanging is a Helper whose operations take a while and then fail, until the
// reconciliation has no time left.
type hanging struct {
	end context.CancelFunc
	// left is the number of operations that there is time for.
	left int
	ran  []string
}

// Open implements steps.Helper.
func (*hanging) Open(context.Context, transport.Container) error { return nil }

// Run implements steps.Helper.
func (h *hanging) Run(_ context.Context, in transport.Container, verb helperapi.Verb, _ helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
	h.ran = append(h.ran, in.Name+" "+string(verb))
	if h.left--; h.left < 0 {
		h.end()
	}
	return nil, &transport.Error{Reason: v1alpha1.ReasonExecTimeout, Message: "It hangs."}
}

// inTime reconciles with a hanging Helper, and time for a number of operations.
func (b *bench) inTime(t *testing.T, s *steps.Situation, operations int) (*visit, []string, error) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	helper := &hanging{end: end, left: operations}
	v := b.of(s)
	v.tools.Helper = helper
	_, err := v.attach(ctx)
	return v, helper.ran, err
}

// Hanging containers use up the time of a reconciliation: each result is recorded
// before the next operation, and the next reconciliation begins with those that were not tried.
func TestContainersHang(t *testing.T) {
	b, s := aBench(), aSituation()
	s.Granted = true
	s.Status().Processes, s.Pod.Spec.Containers, s.Pod.Status.ContainerStatuses = nil, nil, nil
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: name})
		s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, ContainerID: "containerd://" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	v, ran, err := b.inTime(t, s, 2)
	if !errors.Is(err, context.Canceled) || len(ran) < 3 {
		t.Fatalf("got helper operations %q, %v, want at least 3 and context.Canceled", ran, err)
	}
	var recorded []string
	for _, c := range v.persisted.Containers {
		recorded = append(recorded, fmt.Sprintf("%s %s %d", c.Name, c.Reason, c.Attempt.Tries()))
	}
	if diff := cmp.Diff([]string{"a ExecTimeout 1", "b ExecTimeout 1"}, recorded); diff != "" {
		t.Errorf("recorded results (-want +got):\n%s", diff)
	}
	s.Attachment.Status = *v.persisted.DeepCopy()
	s.Now = metav1.NewTime(start.Add(time.Hour))
	b.clock.SetTime(s.Now.Time)
	_, ran, err = b.inTime(t, s, 10)
	if got := strings.Join(ran, ", "); err != nil || got != "c inspect, d inspect, a inspect, b inspect" {
		t.Errorf("second reconciliation: got helper operations %q, %v", got, err)
	}
}

// The same for JVMs, each in a hanging container.
func TestJVMsHang(t *testing.T) {
	b, s := aBench(), servingPod()
	app := s.Status().Processes[0]
	app.Phase, app.Primary, app.Endpoint, app.Staged, app.Intent = v1alpha1.PhaseJavaFound, false, nil, nil, nil
	app.Port, app.ConfigSHA256 = 0, ""
	s.Status().Processes = nil
	s.Status().Phase, s.Status().Reason = v1alpha1.PhaseJavaFound, v1alpha1.ReasonNotReached
	for pid := range int32(4) {
		app.PID = pid + 1
		s.Status().Processes = append(s.Status().Processes, app)
	}
	tries := func(status *v1alpha1.JmxAttachmentStatus) (tries []int32) {
		for _, p := range status.Processes {
			tries = append(tries, p.Attempt.Tries())
		}
		return tries
	}
	v, _, err := b.inTime(t, s, 2)
	if diff := cmp.Diff([]int32{1, 1, 0, 0}, tries(v.persisted)); diff != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v; recorded tries (-want +got):\n%s", err, diff)
	}
	s.Attachment.Status = *v.persisted.DeepCopy()
	s.Now = metav1.NewTime(start.Add(time.Hour))
	b.clock.SetTime(s.Now.Time)
	v, _, _ = b.inTime(t, s, 2)
	if diff := cmp.Diff([]int32{1, 1, 1, 1}, tries(v.persisted)); diff != "" {
		t.Errorf("recorded tries after the second reconciliation (-want +got):\n%s", diff)
	}
}

// The result of an inspection, and the intent of a load, are kept if there is no capacity
// to inspect the next container.
func TestQueuedInTheMiddle(t *testing.T) {
	b, s := aBench(), servingPod()
	withWorker(s, -time.Minute)
	s.Exporter.Spec.AllowSharedTmp = true // both are inspected again
	b.helper.answers["app inspect"] = sees(helperapi.Process{Target: aTarget, MainClass: "Shop", Mark: &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}, AgentJarOpen: true})
	b.helper.answers["worker inspect"] = says(v1alpha1.ReasonQueued)
	v := b.of(s)
	result, err := v.attach(t.Context())
	if err != nil || result.RequeueAfter != statemachine.QueuedFor {
		t.Fatalf("got requeue after %s, %v, want statemachine.QueuedFor", result.RequeueAfter, err)
	}
	for what, status := range map[string]*v1alpha1.JmxAttachmentStatus{"the record": s.Status(), "what is persisted": v.persisted} {
		p := status.Processes[0]
		if p.Intent == nil || p.MainClass != "Shop" || p.Phase != v1alpha1.PhaseExposed {
			t.Errorf("%s: got process %+v, want its intent and main class", what, p)
		}
	}
}

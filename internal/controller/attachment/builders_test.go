package attachment

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/health"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const revision = "new"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// aSituation returns a pod with one running container, app, and its JVM.
func aSituation() *steps.Situation {
	s := &steps.Situation{
		Observed: steps.Observed{
			Operator: steps.Operator{Artifacts: &steps.Artifacts{}, HealthChecks: true},
			Pod:      &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{}, Now: metav1.NewTime(start),
		},
		Record: record.Record{Attachment: &v1alpha1.JmxAttachment{}},
	}
	s.Attachment.Name, s.Attachment.Spec.Revision = "record", revision
	s.Exporter.Status.Revision = revision
	s.Pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	s.Pod.Status.PodIP = "10.0.0.1"
	s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	s.Status().Processes = []v1alpha1.JavaProcess{{
		Container: "app", ContainerID: "containerd://1", PID: 7, StartTime: 11, Phase: v1alpha1.PhaseJavaFound,
	}}
	return s
}

// servingPod returns a pod whose JVM serves and was probed by the operator.
func servingPod() *steps.Situation {
	s := aSituation()
	s.Granted = true
	s.Status().Phase, s.Status().Reason = v1alpha1.PhaseExposed, v1alpha1.ReasonNotReached
	s.Status().Containers = []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "containerd://1", Time: new(s.Now)}}
	p := &s.Status().Processes[0]
	p.Phase, p.Port, p.ConfigSHA256, p.Primary = v1alpha1.PhaseExposed, 9400, "config", true
	p.Staged, p.Intent = &v1alpha1.StagedFiles{ConfigSHA256: "config"}, &v1alpha1.LoadIntent{ConfigSHA256: "config"}
	p.Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400, CheckedFrom: v1alpha1.CheckedFromOperator}
	s.Config.SHA256 = "config"
	s.Published = []steps.PublishedEndpoint{{Address: "10.0.0.1", Port: 9400}}
	return s
}

// answering is a Helper that answers by container and verb, and records its
// calls.
type answering struct {
	answers map[string]func() (*helperapi.Report, error)
	ran     []string
}

// Run implements steps.Helper.
func (a *answering) Run(_ context.Context, in transport.Container, verb helperapi.Verb, _ helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
	key := in.Name + " " + string(verb)
	a.ran = append(a.ran, key)
	if answer := a.answers[key]; answer != nil {
		return answer()
	}
	return nil, fmt.Errorf("unexpected call %s", key)
}

// Open implements steps.Helper: there is capacity, unless an answer is set.
func (a *answering) Open(_ context.Context, in transport.Container) error {
	if answer := a.answers[in.Name+" open"]; answer != nil {
		_, err := answer()
		return err
	}
	return nil
}

func sees(processes ...helperapi.Process) func() (*helperapi.Report, error) {
	return func() (*helperapi.Report, error) { return &helperapi.Report{Processes: processes}, nil }
}

func says(reason string) func() (*helperapi.Report, error) {
	return func() (*helperapi.Report, error) { return nil, &transport.Error{Reason: reason, Message: "No."} }
}

var aTarget = helperapi.Target{PID: 7, StartTime: 11}

// prober is a Prober whose endpoints all answer the same.
type prober struct {
	err     error
	notices *helperapi.Notices
}

// Probe implements probe.Prober.
func (p *prober) Probe(context.Context, string, *v1alpha1.JavaProcess) error { return p.err }

// Answers implements probe.Prober.
func (p *prober) Answers(context.Context, *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	return p.notices, p.err
}

// accepting is an API server that accepts each apply; any other call panics.
type accepting struct {
	client.Client
	writes int
}

// Apply implements client.Client.
func (a *accepting) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	a.writes++
	return nil
}

// Status implements client.Client.
func (a *accepting) Status() client.SubResourceWriter { return status{api: a} }

type status struct {
	client.SubResourceWriter
	api *accepting
}

// Apply implements client.SubResourceWriter.
func (s status) Apply(ctx context.Context, _ runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.api.writes++
	return nil
}

// bench is a Reconciler with fakes.
type bench struct {
	*Reconciler
	api      *deleting
	helper   *answering
	prober   *prober
	clock    *testclock.FakePassiveClock
	recorder *events.FakeRecorder
}

func aBench() *bench {
	b := &bench{
		api: &deleting{}, helper: &answering{answers: map[string]func() (*helperapi.Report, error){}}, prober: &prober{},
		clock: testclock.NewFakePassiveClock(start), recorder: events.NewFakeRecorder(100),
	}
	b.Reconciler = &Reconciler{
		Writer: records.New(apply.New(b.api, effects.Direct)), Prober: b.prober,
		Health: health.New(b.prober, time.Minute, b.clock), Recorder: b.recorder, Clock: b.clock,
	}
	return b
}

// of returns a visit of a situation, whose steps use the fakes.
func (b *bench) of(s *steps.Situation) *visit {
	s.Begun = s.Status().DeepCopy()
	s.State, s.Time, s.Walked, s.Inspection = steps.PodState(s.Begun), b.clock.Now(), nil, nil
	v := &visit{Reconciler: b.Reconciler, Situation: s, persisted: s.Begun}
	v.use(b.helper, b.prober)
	return v
}

// attach decides, acts and concludes about a pod that an exporter owns.
func (v *visit) attach(ctx context.Context) (ctrl.Result, error) {
	v.decisions, v.conclude = steps.Attach, v.concludeAttach
	return v.reconcile(ctx)
}

// detach decides, acts and concludes about a pod that no longer belongs to its exporter.
func (v *visit) detach(ctx context.Context) (ctrl.Result, error) {
	v.decisions, v.conclude = steps.Detach, v.concludeDetach
	return v.reconcile(ctx)
}

// move executes the moves of one decision.
func (v *visit) move(t *testing.T, decide steps.Decision) {
	t.Helper()
	moves, err := decide(v.Situation)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		if err := v.act(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

// closing is a Session whose end has no effect.
type closing struct{ steps.Helper }

// Close implements Session.
func (closing) Close() {}

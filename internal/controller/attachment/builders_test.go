package attachment

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/health"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const revision = "new"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// aScope returns a pod with one running container, app, and its JVM.
func aScope() *steps.Scope {
	s := &steps.Scope{
		Attachment: &v1alpha1.JmxAttachment{}, Pod: &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{},
		Artifacts: &steps.Artifacts{}, Now: metav1.NewTime(start),
		ReinspectAfter: func(*v1alpha1.InspectedContainer) time.Duration { return -1 },
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

// servingScope returns a pod whose JVM serves and was probed by the operator.
func servingScope() *steps.Scope {
	s := aScope()
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
type prober struct{ err error }

// Probe implements steps.Prober.
func (p *prober) Probe(context.Context, string, *v1alpha1.JavaProcess) error { return p.err }

// Answers implements steps.Prober.
func (p *prober) Answers(context.Context, *v1alpha1.JavaProcess) error { return p.err }

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
	api      *accepting
	helper   *answering
	prober   *prober
	clock    *testclock.FakePassiveClock
	recorder *events.FakeRecorder
}

func aBench() *bench {
	b := &bench{
		api: &accepting{}, helper: &answering{answers: map[string]func() (*helperapi.Report, error){}}, prober: &prober{},
		clock: testclock.NewFakePassiveClock(start), recorder: events.NewFakeRecorder(100),
	}
	b.Reconciler = &Reconciler{
		Writer: records.New(apply.New(b.api, effects.Direct)), Prober: b.prober,
		Health: health.New(b.prober, time.Minute, b.clock), Recorder: b.recorder, Clock: b.clock,
	}
	return b
}

// of returns a visit of a scope, whose steps use the fakes.
func (b *bench) of(s *steps.Scope) *visit {
	s.Helper, s.Prober, s.Writer = b.helper, b.prober, b.Writer
	return b.visit(s)
}

package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const anAddress = "10.0.0.1"

// scene is a situation, and the tools of its steps.
type scene struct {
	*Situation
	Tools
}

// aSituation returns a situation with an exporter of port 9400, to which the rollout is
// granted, and a pod that runs the containers of the processes.
func aSituation(processes ...v1alpha1.JavaProcess) *scene {
	s := &scene{
		&Situation{
			Observed: Observed{
				Operator: Operator{Artifacts: &Artifacts{Agent: blob("agent"), Implementation: blob("implementation")}, HealthChecks: true},
				Pod:      &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{}, Granted: true, Begun: &v1alpha1.JmxAttachmentStatus{},
				Time: start, Now: metav1.NewTime(start),
			},
			Record: record.Record{Attachment: &v1alpha1.JmxAttachment{}},
		},
		Tools{Persist: func(context.Context) error { return nil }},
	}
	s.Attachment.Spec.Exporter.Name = "shop"
	s.Exporter.Name, s.Exporter.Spec.Port = "shop", 9400
	s.Pod.Status.PodIP = anAddress
	s.Config.Blob = blob("config")
	s.Status().Processes = processes
	for _, p := range processes {
		s.runs(p.Container)
	}
	return s
}

func blob(of string) transport.Blob { return transport.NewBlob("file-", []byte(of), "") }

// runs adds a running container to the pod, if it is missing.
func (s *scene) runs(container string) {
	for _, c := range s.Pod.Spec.Containers {
		if c.Name == container {
			return
		}
	}
	s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: container})
	s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: container, ContainerID: "containerd://" + container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	})
}

// inspectedWell records an inspection of all containers of the pod.
func (s *scene) inspectedWell() *scene {
	for _, c := range s.Pod.Spec.Containers {
		s.Status().Containers = append(s.Status().Containers, v1alpha1.InspectedContainer{Name: c.Name, ContainerID: "containerd://" + c.Name, Time: new(s.Now)})
	}
	return s
}

// aProcess returns a Java process of a container that can be attached to, with its
// port.
func aProcess(container string, port int32) v1alpha1.JavaProcess {
	return v1alpha1.JavaProcess{
		Container: container, ContainerID: "containerd://" + container, PID: 7, StartTime: 11, Port: port, Phase: v1alpha1.PhaseJavaFound,
	}
}

// serving returns a process that serves the files of aSituation at the pod's address.
func serving(container string, port int32) v1alpha1.JavaProcess {
	p := aProcess(container, port)
	p.Phase, p.Primary = v1alpha1.PhaseExposed, port == 9400
	p.Staged = &v1alpha1.StagedFiles{AgentSHA256: blob("agent").SHA256, ImplementationSHA256: blob("implementation").SHA256, ConfigSHA256: blob("config").SHA256}
	p.ConfigSHA256, p.ImplementationSHA256 = p.Staged.ConfigSHA256, p.Staged.ImplementationSHA256
	p.Intent = &v1alpha1.LoadIntent{ConfigSHA256: p.ConfigSHA256, ImplementationSHA256: p.ImplementationSHA256}
	if p.Primary {
		p.Intent.Port = port
	}
	p.Endpoint = &v1alpha1.Endpoint{Address: anAddress, Port: port, CheckedFrom: v1alpha1.CheckedFromOperator}
	return p
}

// failing returns a process in a phase whose next phase does not hold.
func failing(container string, phase v1alpha1.Phase, reason string) v1alpha1.JavaProcess {
	p := aProcess(container, 0)
	p.Phase, p.Reason, p.Message = phase, reason, "No."
	return p
}

// with returns a changed process.
func with(p v1alpha1.JavaProcess, change func(*v1alpha1.JavaProcess)) v1alpha1.JavaProcess {
	change(&p)
	return p
}

func excluded(p *v1alpha1.JavaProcess) { p.Excluded, p.Primary = true, false }

// published adds the endpoints of all processes to EndpointSlices.
func (s *scene) published() *scene {
	for _, p := range s.Status().Processes {
		if p.Endpoint != nil {
			s.Published = append(s.Published, PublishedEndpoint{p.Endpoint.Address, p.Endpoint.Port, p.Endpoint.TLS})
		}
	}
	return s
}

// jvm returns the first process of the status.
func (s *scene) jvm() *JVM { return &JVM{s.Situation, &s.Status().Processes[0]} }

// answering is a Helper that answers by container and verb, and records its
// calls.
type answering struct {
	answers map[string]func() (*helperapi.Report, error)
	ran     []string
}

// Run implements Helper.
func (a *answering) Run(_ context.Context, in transport.Container, verb helperapi.Verb, _ helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
	key := in.Name + " " + string(verb)
	a.ran = append(a.ran, key)
	if answer := a.answers[key]; answer != nil {
		return answer()
	}
	return nil, fmt.Errorf("unexpected call %s", key)
}

// Open implements Helper: there is capacity, unless an answer is set.
func (a *answering) Open(_ context.Context, in transport.Container) error {
	if answer := a.answers[in.Name+" open"]; answer != nil {
		_, err := answer()
		return err
	}
	return nil
}

// helperFunc is a Helper that always has capacity.
type helperFunc func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error)

// Run implements Helper.
func (f helperFunc) Run(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	return f(ctx, in, verb, request, blobs...)
}

// Open implements Helper.
func (helperFunc) Open(context.Context, transport.Container) error { return nil }

func sees(processes ...helperapi.Process) func() (*helperapi.Report, error) {
	return func() (*helperapi.Report, error) { return &helperapi.Report{Processes: processes}, nil }
}

func says(reason string) func() (*helperapi.Report, error) {
	return func() (*helperapi.Report, error) { return nil, &transport.Error{Reason: reason, Message: "No."} }
}

var (
	aTarget   = helperapi.Target{PID: 7, StartTime: 11}
	isRunning = &helperapi.Mark{State: helperapi.AgentRunning, Port: 9400}
	isStopped = &helperapi.Mark{State: helperapi.AgentStopped}
)

// probing is a Prober whose endpoints all answer the same.
type probing struct{ err error }

// Probe implements Prober.
func (p probing) Probe(context.Context, string, *v1alpha1.JavaProcess) error { return p.err }

// Answers implements Prober.
func (probing) Answers(context.Context, *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	return nil, errors.New("connection refused")
}

// podWith returns a pod whose annotations have these owners: manager -> annotations.
func podWith(owned map[string][]string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Annotations = map[string]string{}
	for manager, names := range owned {
		fields := make([]string, len(names))
		for i, name := range names {
			pod.Annotations[name] = "x"
			fields[i] = fmt.Sprintf("%q:{}", "f:"+name)
		}
		raw := `{"f:metadata":{"f:annotations":{` + strings.Join(fields, ",") + `},"f:labels":{"f:app":{}}},"f:spec":{"f:nodeName":{}}}`
		pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsV1: metav1.NewFieldsV1(raw),
		})
	}
	return pod
}

// annotatedBy gives the pod the operator's annotations, owned by a manager, with a port.
func (s *scene) annotatedBy(manager, port string) *scene {
	owned := podWith(map[string][]string{manager: {v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort, v1alpha1.AnnotationPath, v1alpha1.AnnotationFlag}})
	s.Pod.ObjectMeta = owned.ObjectMeta
	s.Pod.Annotations[v1alpha1.AnnotationScrape], s.Pod.Annotations[v1alpha1.AnnotationPort] = "true", port
	s.Pod.Annotations[v1alpha1.AnnotationPath], s.Pod.Annotations[v1alpha1.AnnotationFlag] = probe.MetricsPath, s.Attachment.Name
	return s
}

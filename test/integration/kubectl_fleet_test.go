package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// shop is a namespace with exporters and records in the states that a person asks about.
// What the operator would write is written by the test, so that it is always the same.
type shop struct {
	*cluster
	payroll, ledger *v1alpha1.PrometheusJmxExporter
	pods            map[string]*corev1.Pod
	records         map[string]*v1alpha1.JmxAttachment
	// node is that of the pods; empty for one that does not exist.
	node string
}

func aShop(t *testing.T, namespace string) *shop {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	s := &shop{
		cluster: &cluster{t: t, namespace: namespace, containers: fakenode.New(t), clock: testclock.NewFakePassiveClock(noon)},
		pods:    map[string]*corev1.Pod{}, records: map[string]*v1alpha1.JmxAttachment{},
	}
	s.configure(rules)
	s.payroll, s.ledger = s.exporter("payroll"), s.exporter("ledger")
	s.exporter("unprocessed")
	return s
}

func (s *shop) exporter(name string) *v1alpha1.PrometheusJmxExporter {
	e := s.anExporter(name)
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(name)}
	return create(s.t, e)
}

func (s *shop) status(e *v1alpha1.PrometheusJmxExporter, status v1alpha1.PrometheusJmxExporterStatus) {
	s.t.Helper()
	status.ObservedGeneration = e.Generation
	e.Status = status
	if err := admin.Status().Update(s.t.Context(), e); err != nil {
		s.t.Fatal(err)
	}
}

// pod creates a running pod of the application.
func (s *shop) pod(name, app string) *corev1.Pod {
	s.t.Helper()
	p := aPod(name)
	p.pod.Labels["app"] = app
	if s.node != "" {
		p.pod.Spec.NodeName = s.node
	}
	s.pods[name] = s.run(p)
	return s.pods[name]
}

// record creates the record of a pod.
func (s *shop) record(e *v1alpha1.PrometheusJmxExporter, pod string, status v1alpha1.JmxAttachmentStatus) {
	s.t.Helper()
	p := s.pod(pod, e.Name)
	record := &v1alpha1.JmxAttachment{
		ObjectMeta: s.named(pod + "-3d8ff2bf"),
		Spec: v1alpha1.JmxAttachmentSpec{
			Pod:      v1alpha1.ObjectIdentity{Name: pod, UID: p.UID},
			Exporter: v1alpha1.ObjectIdentity{Name: e.Name, UID: e.UID},
		},
	}
	create(s.t, record)
	status.NodeName = "node-1"
	record.Status = status
	if err := admin.Status().Update(s.t.Context(), record); err != nil {
		s.t.Fatal(err)
	}
	s.records[pod] = record
}

// conditions are those of a record that reached a phase, and the first one that does not hold.
func conditions(reached v1alpha1.Phase, reason, message string) []metav1.Condition {
	since := metav1.NewTime(noon.Add(-90 * time.Minute))
	holds := map[v1alpha1.Phase]string{
		v1alpha1.PhaseDiscovered: v1alpha1.ReasonSelected, v1alpha1.PhaseJavaFound: v1alpha1.ReasonJVMIdentified, v1alpha1.PhaseStaged: v1alpha1.ReasonFilesVerified,
		v1alpha1.PhaseLoaded: v1alpha1.ReasonAgentServing, v1alpha1.PhaseExposed: v1alpha1.ReasonEndpointPublished, v1alpha1.PhaseAnnotated: v1alpha1.ReasonAnnotationsApplied,
	}
	held := map[v1alpha1.Phase]string{
		v1alpha1.PhaseDiscovered: "Selected by the exporter.", v1alpha1.PhaseJavaFound: "Java 17.0.17+10 in container app.", v1alpha1.PhaseStaged: "The files are verified.",
		v1alpha1.PhaseLoaded: "The agent serves the configuration.", v1alpha1.PhaseExposed: "The endpoint answers.", v1alpha1.PhaseAnnotated: "The pod is annotated.",
	}
	var all []metav1.Condition
	first := true
	for _, phase := range v1alpha1.Phases() {
		switch c := (metav1.Condition{Type: string(phase), LastTransitionTime: since}); {
		case reached.Reached(phase):
			c.Status, c.Reason, c.Message = metav1.ConditionTrue, holds[phase], held[phase]
			all = append(all, c)
		case first:
			first = false
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, message
			if v1alpha1.Passing(reason) {
				c.Status = metav1.ConditionUnknown
			}
			all = append(all, c)
		default:
			c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonNotReached, "An earlier phase does not hold."
			all = append(all, c)
		}
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScrapable, Message: "All phases hold.", LastTransitionTime: since}
	if !first {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason, message
	}
	return append(all, ready)
}

func aProcess(container string, pid, port int32) v1alpha1.JavaProcess {
	return v1alpha1.JavaProcess{
		Container: container, ContainerID: "containerd://" + container, PID: pid, StartTime: 395314, VM: "HotSpot", Version: "17.0.17+10",
		MainClass: "com.example." + container + ".Main", Phase: v1alpha1.PhaseExposed, Port: port,
		Endpoint: &v1alpha1.Endpoint{Address: "10.0.0.1", Port: port, CheckedFrom: v1alpha1.CheckedFromOperator},
	}
}

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}}
}

const disabledMessage = "Container app: The JVM runs with -XX:+DisableAttachMechanism. Remove the option, or start the exporter as a -javaagent."

// fill creates the pods of the exporters.
func (s *shop) fill() {
	primary := aProcess("app", 1, 9400)
	primary.Primary = true
	primary.Notices = &v1alpha1.ScrapeNotices{Expensive: &v1alpha1.ExpensiveScrape{Reason: "CPU", Rule: 2, IncludeObjectNames: []string{"com.example:*"}}}
	expensive := conditions(v1alpha1.PhaseAnnotated, "", "")
	expensive = append(expensive, metav1.Condition{
		Type: v1alpha1.ConditionScrapeExpensive, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCPU, LastTransitionTime: metav1.NewTime(noon.Add(-5 * time.Minute)),
		Message: "A collection takes more than 5 % of a CPU; rule 2 costs most.",
	})
	s.record(s.payroll, "payroll-0", v1alpha1.JmxAttachmentStatus{
		Phase: v1alpha1.PhaseAnnotated, Conditions: expensive, Processes: []v1alpha1.JavaProcess{primary, aProcess("worker", 7, 9404)},
	})
	s.record(s.payroll, "payroll-1", v1alpha1.JmxAttachmentStatus{
		Phase: v1alpha1.PhaseDiscovered, Reason: v1alpha1.ReasonAttachDisabled, Conditions: conditions(v1alpha1.PhaseDiscovered, v1alpha1.ReasonAttachDisabled, disabledMessage),
		Processes: []v1alpha1.JavaProcess{{
			Container: "app", ContainerID: "containerd://app", PID: 1, StartTime: 395314, VM: "HotSpot", Version: "25.0.1+8", MainClass: "com.example.Main",
			Phase: v1alpha1.PhaseDiscovered, Reason: v1alpha1.ReasonAttachDisabled, Message: "The JVM runs with -XX:+DisableAttachMechanism.",
		}},
	})
	const busy = "Container app: Port 9400 is in use. Set spec.port to another one, or omit it."
	failing := aProcess("app", 1, 0)
	failing.Phase, failing.Endpoint, failing.Port, failing.Reason, failing.Message = v1alpha1.PhaseStaged, nil, 0, v1alpha1.ReasonPortInUse, "Port 9400 is in use."
	failing.Attempt = &v1alpha1.Attempt{Key: "1", Phase: v1alpha1.PhaseLoaded, Count: 3, LastError: "Port 9400 is in use.", NextTime: new(metav1.NewTime(noon.Add(4 * time.Second)))}
	s.record(s.payroll, "payroll-2", v1alpha1.JmxAttachmentStatus{
		Phase: v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonPortInUse, Conditions: conditions(v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse, busy), Processes: []v1alpha1.JavaProcess{failing},
	})
	s.status(s.payroll, v1alpha1.PrometheusJmxExporterStatus{
		Phase: v1alpha1.PhaseStaged, Pods: "1/3", Matched: 3, Refused: 1,
		Conditions: ready(metav1.ConditionFalse, v1alpha1.ReasonPodsRefused, "1 of 3 pods is refused: payroll-1 (AttachDisabled)."),
		ProblemPods: []v1alpha1.ProblemPod{{
			Pod: "payroll-3", UID: types.UID("0"), Container: "app", Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container", RestartCount: 4,
		}},
	})
	const halted = "Pod ledger-0: Container app exited 12s after an attach or a change: exit code 137, OOMKilled. The rollout is halted; existing endpoints keep serving. To resume, change the configuration, or set the exporter's annotation banzaicloud.com/resume-rollout to a new value."
	s.record(s.ledger, "ledger-0", v1alpha1.JmxAttachmentStatus{
		Phase: v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonRestartedAfterAttach,
		Conditions: conditions(v1alpha1.PhaseJavaFound, v1alpha1.ReasonRestartedAfterAttach, "Container app exited 12s after an attach or a change: exit code 137, OOMKilled."),
		Restart:    &v1alpha1.Restart{Revision: "1", Container: "app", Message: "Container app exited 12s after an attach or a change: exit code 137, OOMKilled."},
	})
	s.status(s.ledger, v1alpha1.PrometheusJmxExporterStatus{
		Phase: v1alpha1.PhaseJavaFound, Pods: "0/1", Matched: 1,
		Halt:       &v1alpha1.Halt{Revision: "1", Reason: v1alpha1.ReasonRestartedAfterAttach, Message: halted},
		Conditions: ready(metav1.ConditionFalse, v1alpha1.ReasonRestartedAfterAttach, halted),
	})
	s.event(s.records["payroll-2"], "Warning", v1alpha1.ReasonPortInUse, busy, 3)
	s.event(s.pods["payroll-2"], "Normal", "Scheduled", "Successfully assigned shop/payroll-2 to node-1", 1)
}

// event creates an Event, as the recorder of the operator or the kubelet would.
func (s *shop) event(on metav1.Object, kind, reason, message string, count int32) {
	s.t.Helper()
	about := corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: s.namespace, Name: on.GetName(), UID: on.GetUID()}
	if _, ok := on.(*v1alpha1.JmxAttachment); ok {
		about.Kind, about.APIVersion = "JmxAttachment", v1alpha1.GroupVersion.String()
	}
	last := noon.Add(-time.Duration(count) * time.Minute)
	create(s.t, &corev1.Event{
		ObjectMeta: s.named(on.GetName() + "." + reason), InvolvedObject: about, Type: kind, Reason: reason, Message: message, Count: count,
		FirstTimestamp: metav1.NewTime(last.Add(-time.Minute)), LastTimestamp: metav1.NewTime(last),
	})
}

// secure records that the endpoint of a pod's first JVM serves TLS with this certificate.
func (s *shop) secure(pod, certificateSHA256 string) {
	s.t.Helper()
	record := s.records[pod]
	get(s.t, record)
	record.Status.Processes[0].Endpoint.TLS = true
	record.Status.Processes[0].CertificateSHA256 = certificateSHA256
	if err := admin.Status().Update(s.t.Context(), record); err != nil {
		s.t.Fatal(err)
	}
}

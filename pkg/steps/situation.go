package steps

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Situation is one pod in one reconcile: what was observed, and the record that the moves
// bring up to date. Decisions read it, steps also write to its record. It belongs to one
// goroutine.
type Situation struct {
	Observed
	// Record is a copy that belongs to this Situation.
	record.Record
	// State is the state of the pod's own phases; those of its JVMs are in the record.
	State statemachine.State
	// Walked are the processes that were led forward or back in this reconcile.
	Walked []record.ProcessIdentity
	// Inspection is the outcome of FindJava in this reconcile; nil if it was not ensured
	// again.
	Inspection *statemachine.Outcome

	// retryAfter is the longest known time after which retrying an inspection makes
	// sense; 0 if none is known.
	retryAfter time.Duration
	// present has the files to stage that exist in each container, as far as this
	// reconcile has seen or staged them.
	present map[string][]helperapi.File
	// unsearched reports whether FindAgents could not search all containers in this
	// reconcile.
	unsearched bool
	// withoutNode has the containers that the node agent did not serve in this reconcile.
	withoutNode map[string]bool
}

// Observed is what a reconcile of one pod has read. Nothing in it changes before the next
// reconcile, but the pod's annotations, by the operator's own hand.
type Observed struct {
	Operator
	// Pod is the pod of the record, with the UID in the record.
	Pod *corev1.Pod
	// Exporter is the exporter that owns the pod; nil for a pod that is being detached.
	Exporter *v1alpha1.PrometheusJmxExporter
	// Former is the exporter that the record of a pod names that is being detached; nil if
	// it is being deleted, or no longer selects the pod.
	Former *v1alpha1.PrometheusJmxExporter
	// Inputs are the resources that the exporter refers to.
	Inputs
	// Granted reports whether the rollout has granted the revision of the Inputs to the pod.
	// Otherwise the pod is kept as its record says.
	Granted bool
	// ProvenOnly reports whether the rollout of the pod's revision is paused or halted, or
	// another one is being rolled out: the grant holds only for containers that have proven it.
	ProvenOnly bool
	// NodeAgent is the node agent on the pod's node.
	NodeAgent NodeAgent
	// Published are the endpoints of this pod in the operator's EndpointSlices.
	Published []PublishedEndpoint
	// EndpointHealth has the results of the last health checks of endpoints, and of the
	// examinations after those that failed.
	EndpointHealth map[record.ProcessIdentity]Health
	// Begun is the status as it was read.
	Begun *v1alpha1.JmxAttachmentStatus
	// Unauthorized returns why the user who wrote the exporter may not attach; nil if the
	// user may, or if nothing is to be reviewed. It is read at the first question, so that
	// a pod where nothing is new asks nothing.
	Unauthorized func() *statemachine.Outcome
	// Time is the start time of the reconcile, and Now the same in whole seconds, as the
	// API keeps it.
	Time time.Time
	Now  metav1.Time
}

// Operator is what the operator was started with.
type Operator struct {
	// Artifacts are the files that the operator copies into containers.
	Artifacts *Artifacts
	// Transport is the transport that the operator may use; all if it is empty or Auto.
	Transport v1alpha1.Transport
	// Protection lists what the operator attaches to only if its flags allow it.
	Protection pod.Protection
	// HealthChecks reports whether endpoints are health checked.
	HealthChecks bool
}

// PublishedEndpoint is an endpoint in an EndpointSlice.
type PublishedEndpoint struct {
	Address string
	Port    int32
	// TLS reports whether it is published as a TLS endpoint.
	TLS bool
}

// Key identifies everything that an attempt depends on and whose changes raise events.
// While it is unchanged, refused steps stay refused and backoffs run. A configuration
// counts as soon as it is granted; an invalid one triggers no retries.
func (s *Situation) Key() string {
	containers, refused := map[string]string{}, map[string]string{}
	for _, c := range pod.Running(s.Pod) {
		containers[c.Name] = c.ID
		if why := s.Protection.Container(s.Pod, c.Name); why != "" { // an ephemeral container may come and end
			refused[c.Name] = why
		}
	}
	return digest(
		s.Pod.UID, s.Pod.Status.PodIP, containers, s.Attachment.Spec.Revision, s.Exporter.UID,
		rules(s.Exporter), s.Exporter.Spec.Transport, s.Transport, transport.Doors(s.Pod), s.NodeAgent.key(TransportOf(s.Exporter.Spec.Transport, s.Transport)), s.refusesOnWarning(), s.Exporter.Spec.MemoryHeadroom, s.Exporter.Annotations[v1alpha1.AnnotationResume], pod.Foreign(s.Pod, pod.Annotations()),
		s.Protection.Pod(s.Pod), refused,
		// A different version of the operator may handle what this one cannot.
		s.Artifacts.Command(),
	)
}

// refusesOnWarning reports whether the exporter accepts no load that its JVM warns of.
func (s *Situation) refusesOnWarning() bool {
	return s.Exporter.Spec.DynamicAgentLoading == v1alpha1.DynamicAgentLoadingRefuseOnWarning
}

// lost reports whether endpoints of the pod are published that its record may not know.
func (s *Situation) lost() bool { return len(s.Published) > 0 && !record.EndpointsKnown(s.Status()) }

// mayServe reports whether the container serves metrics or has an agent according to its
// record, because it was attached to when flags and rights allowed it. A record that was lost
// knows of none: its endpoints stay, but nothing more is executed than in a new pod.
func (s *Situation) mayServe(c pod.Container) bool {
	return s.Find(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == c.ID && record.Serves(p) }) != nil
}

// PodState returns the state of the pod from its record.
func PodState(s *v1alpha1.JmxAttachmentStatus) statemachine.State {
	state := statemachine.State{Phase: statemachine.Phase(s.Phase), Reason: s.Reason, Attempt: record.AttemptOf(s.Attempt)}
	if state.Reason == v1alpha1.ReasonNotReached { // nothing was tried for the next phase
		state.Reason = ""
	}
	if next, ok := Plan.Next(state.Phase); ok && state.Reason != "" {
		if c := meta.FindStatusCondition(s.Conditions, string(next)); c != nil {
			state.Message = c.Message
		}
	}
	return state
}

// Agents returns the processes of the record that have an agent of the operator.
func (s *Situation) Agents() []*v1alpha1.JavaProcess {
	return s.Filter(func(p *v1alpha1.JavaProcess) bool { return record.MayHaveAgent(p) && record.Runs(s.Pod, p) })
}

// Package attachment reconciles one pod in four verbs: it observes the pod, lets pkg/steps
// decide, acts by executing the moves that were decided for, and concludes: it turns the
// outcomes into conditions, Events, metrics and a requeue.
package attachment

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/health"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Session runs the helper in the containers of one pod during one reconcile.
type Session interface {
	steps.Helper
	// Close ends the session in bounded time.
	Close()
}

// Sessions opens a Session for a reconcile; this alone executes nothing.
type Sessions func() Session

// Reconciler reconciles JmxAttachments. All fields but Transport, NodeAgents and Protection are
// required.
type Reconciler struct {
	Reader client.Reader
	// Live reads from the API server, past the cache.
	Live      client.Reader
	Writer    *records.Writer
	Source    *source.Source
	Artifacts *steps.Artifacts
	// Transport is the transport that the operator may use; all if it is empty or Auto.
	Transport v1alpha1.Transport
	// NodeAgents knows the node agents; nil if the operator uses none.
	NodeAgents NodeAgents
	Sessions   Sessions
	// Limits limits concurrent probes, and announces capacity to pods that wait for a
	// Session or a probe.
	Limits Limits
	Prober probe.Prober
	// Protection lists pods that the operator does not attach to.
	Protection pod.Protection
	// Authority checks whether the user who wrote an exporter may attach.
	Authority steps.Authority
	// Health checks exposed endpoints periodically.
	Health   *health.Checker
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// NodeAgents knows the node agents. Implementations are safe for concurrent use.
type NodeAgents interface {
	// Agent returns what is known of the node agent on a node.
	Agent(node string) steps.NodeAgent
	// Watch watches the node agents in the background until ctx is done. It calls ready for
	// each node whose node agent becomes ready; ready does not block.
	Watch(ctx context.Context, ready func(node string))
	// Synced waits, in bounded time, until the node agents that exist are known.
	Synced(ctx context.Context)
}

// Limits limits concurrent sessions and probes, and announces capacity to the pods that
// found none.
type Limits interface {
	OnRoom(wake func(namespace, pod string) (comes bool))
	// Begin begins the turn of a pod, and Pass ends it.
	Begin() transport.Turn
	Pass(turn transport.Turn, namespace, pod string)
	// Probe reserves capacity for a probe until done is called. It returns an error if
	// there is none.
	Probe(in transport.Container) (done func(), err error)
}

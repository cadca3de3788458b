package steps

import (
	"context"
	"errors"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Expose probes the endpoint and records that it answered. The exporter controller then
// writes it into an EndpointSlice; this step waits to see it there.
type Expose struct{ Tools }

// Phase implements statemachine.Step.
func (Expose) Phase() statemachine.Phase { return Exposed }

// OnlyObserves implements statemachine.Observer.
func (Expose) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (e Expose) Ensure(ctx context.Context, j *JVM) statemachine.Outcome {
	p := j.Process
	if j.Pod.Status.PodIP == "" {
		return record.NotDone(v1alpha1.ReasonContainerNotRunning, "The pod has no address yet.")
	}
	if !j.answered() {
		from, err := e.probe(ctx, j)
		if err != nil {
			outcome := failed(err)
			if outcome.Kind != statemachine.Queued && e.Examine(ctx, j.Situation, p, 0) == FindingGone {
				outcome = record.NotDone(v1alpha1.ReasonProcessGone, "The JVM exited before its endpoint answered.")
				outcome.Back, outcome.Err = Replaced, err
			}
			return outcome
		}
		p.Endpoint = &v1alpha1.Endpoint{Address: j.Pod.Status.PodIP, Port: p.Port, TLS: record.Secured(p), CheckedFrom: from}
	}
	if !j.published() {
		return record.NotDone(v1alpha1.ReasonEndpointPending, "The endpoint answers; its EndpointSlice is being written.")
	}
	return record.Done()
}

// probe probes from the operator, or has the helper check the endpoint if the operator cannot
// reach it: from within the pod, or from the node, where a node agent has nothing of the pod's
// network.
func (e Expose) probe(ctx context.Context, j *JVM) (v1alpha1.CheckedFrom, error) {
	err := e.Prober.Probe(ctx, j.Pod.Status.PodIP, j.Process)
	if !errors.Is(err, probe.ErrUnreachable) {
		return v1alpha1.CheckedFromOperator, err
	}
	request := helperapi.Request{Probe: &helperapi.Endpoint{Port: j.Process.Port, Path: probe.Path(j.Process), TLS: record.Secured(j.Process)}}
	_, err = e.run(ctx, j.Situation, j.at(), helperapi.VerbProbe, request)
	return j.CheckedFrom(j.Process.Container), err
}

// withdrawing reports whether an EndpointSlice still has an endpoint of the pod that
// belongs to no process of the record: it is about to be removed, whatever its address
// and port.
func (j *JVM) withdrawing() bool {
	return slices.ContainsFunc(j.Published, func(published PublishedEndpoint) bool {
		return j.Find(func(p *v1alpha1.JavaProcess) bool {
			return p.Endpoint != nil && published == PublishedEndpoint{p.Endpoint.Address, p.Endpoint.Port, p.Endpoint.TLS}
		}) == nil
	})
}

// unpublishTimeout is how long a detach waits for an endpoint's removal from its
// EndpointSlice before it stops the agent anyway: the slices of a deleted exporter stay
// until garbage collection.
const unpublishTimeout = 5 * time.Second

// Undo implements statemachine.Step. It removes the endpoint from the record, and
// thereby from its EndpointSlice, before the agent that serves it is stopped.
func (Expose) Undo(_ context.Context, j *JVM) statemachine.Outcome {
	p, started := j.Process, j.Status().DetachStartTime
	p.Endpoint = nil
	if record.MayHaveAgent(p) && j.withdrawing() && (started == nil || j.Now.Sub(started.Time) < unpublishTimeout) {
		outcome := record.NotDone(v1alpha1.ReasonEndpointPending, "The endpoint is being removed from its EndpointSlice.")
		if started != nil { // else the event of the EndpointSlice is all that is awaited
			outcome.RetryAfter = time.Second
		}
		return outcome
	}
	return record.Done()
}

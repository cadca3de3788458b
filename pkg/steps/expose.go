package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Expose asks the endpoint, and records that it answered. The exporter's
// controller then writes it into an EndpointSlice; this step waits to see it there.
type Expose struct {
	Helper Helper
	Prober Prober
}

// Phase implements Step.
func (Expose) Phase() statemachine.Phase { return statemachine.Exposed }

// Lost implements Step.
func (Expose) Lost(s *Scope) statemachine.Event {
	if answered(s) && published(s) {
		return ""
	}
	return statemachine.EndpointLost
}

// Ensure implements Step.
func (e Expose) Ensure(ctx context.Context, s *Scope) Outcome {
	if s.Pod.Status.PodIP == "" {
		return NotReached(v1alpha1.ReasonContainerNotRunning, "The pod has no address yet.")
	}
	if !answered(s) {
		from, err := e.probe(ctx, s)
		if err != nil {
			return failed(err)
		}
		s.Status().Endpoint = &v1alpha1.Endpoint{Address: s.Pod.Status.PodIP, Port: s.Process().Port, CheckedFrom: from}
	}
	if !published(s) {
		return NotReached(v1alpha1.ReasonEndpointPending, "The endpoint answers; its EndpointSlice is being written.")
	}
	message := fmt.Sprintf("/metrics answers on port %d and stands in an EndpointSlice.", s.Status().Endpoint.Port)
	if s.Status().Endpoint.CheckedFrom == v1alpha1.CheckedFromPod {
		message += " It was asked from within the pod, since the operator cannot reach it: a NetworkPolicy or a mesh may keep Prometheus out as well."
	}
	return Reached(message)
}

// probe asks from here, and from within the pod where the pod cannot be reached.
func (e Expose) probe(ctx context.Context, s *Scope) (v1alpha1.CheckedFrom, error) {
	port := s.Process().Port
	err := e.Prober.Probe(ctx, s.Pod.Status.PodIP, port)
	if !errors.Is(err, ErrUnreachable) {
		return v1alpha1.CheckedFromOperator, err
	}
	request := attach.Request{Probe: &attach.Endpoint{Port: port, Path: MetricsPath}}
	_, err = e.Helper.Run(ctx, s.target(s.Process().Container), attach.VerbProbe, request)
	return v1alpha1.CheckedFromPod, err
}

func answered(s *Scope) bool {
	e, p := s.Status().Endpoint, s.Process()
	return e != nil && p != nil && e.Address == s.Pod.Status.PodIP && e.Port == p.Port
}

func published(s *Scope) bool {
	e := s.Status().Endpoint
	return slices.Contains(s.Published, PublishedEndpoint{Address: e.Address, Port: e.Port})
}

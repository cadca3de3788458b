package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	for _, p := range s.Chosen() {
		if !answered(s, p) || !published(s, p) {
			return statemachine.EndpointLost
		}
	}
	return ""
}

// Ensure implements Step.
func (e Expose) Ensure(ctx context.Context, s *Scope) Outcome {
	if s.Pod.Status.PodIP == "" {
		return NotReached(v1alpha1.ReasonContainerNotRunning, "The pod has no address yet.")
	}
	var trials []trial
	for _, p := range s.Chosen() {
		outcome := Outcome{Kind: Done}
		if !answered(s, p) {
			from, err := e.probe(ctx, s, p)
			if err != nil {
				outcome = failed(err)
				if outcome.Reason != v1alpha1.ReasonQueued && Look(ctx, e.Helper, s.Pod, p) == SightGone {
					outcome = NotReached(v1alpha1.ReasonProcessGone, "The JVM ended before its endpoint answered.")
					outcome.Gone, outcome.Err = Identity(p), err
					return outcome
				}
			} else {
				p.Endpoint = &v1alpha1.Endpoint{Address: s.Pod.Status.PodIP, Port: p.Port, CheckedFrom: from}
			}
		}
		if outcome.Reason == v1alpha1.ReasonQueued {
			return outcome
		}
		trials = append(trials, trial{p, s.named(p, outcome)})
	}
	return s.together(v1alpha1.PhaseExposed, trials, func() Outcome { return Exposed(s) })
}

// Exposed is the Outcome for a pod all of whose endpoints answer: whether they are
// published, and where from they were seen.
func Exposed(s *Scope) Outcome {
	var ports []string
	fromPod := false
	for _, p := range s.Chosen() {
		if !published(s, p) {
			return NotReached(v1alpha1.ReasonEndpointPending, "The endpoint answers; its EndpointSlice is being written.")
		}
		ports = append(ports, strconv.Itoa(int(p.Endpoint.Port)))
		fromPod = fromPod || p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod
	}
	message := fmt.Sprintf("/metrics answers on port %s and stands in an EndpointSlice.", strings.Join(ports, ", "))
	if fromPod {
		message += " It was asked from within the pod, since the operator cannot reach it: a NetworkPolicy or a mesh may keep Prometheus out as well, and a JVM that is replaced while its container runs on is noticed when the pod becomes ready again, or at the next change."
	}
	return Reached(message)
}

// probe asks from here, and from within the pod where the pod cannot be reached.
func (e Expose) probe(ctx context.Context, s *Scope, p *v1alpha1.JavaProcess) (v1alpha1.CheckedFrom, error) {
	err := e.Prober.Probe(ctx, s.Pod.Status.PodIP, p.Port)
	if !errors.Is(err, ErrUnreachable) {
		return v1alpha1.CheckedFromOperator, err
	}
	request := attach.Request{Probe: &attach.Endpoint{Port: p.Port, Path: MetricsPath}}
	_, err = e.Helper.Run(ctx, Target(s.Pod, p.Container), attach.VerbProbe, request)
	return v1alpha1.CheckedFromPod, err
}

func answered(s *Scope, p *v1alpha1.JavaProcess) bool {
	e := p.Endpoint
	return e != nil && !e.Silent && e.Address == s.Pod.Status.PodIP && e.Port == p.Port
}

func published(s *Scope, p *v1alpha1.JavaProcess) bool {
	e := p.Endpoint
	return e != nil && slices.Contains(s.Published, PublishedEndpoint{Address: e.Address, Port: e.Port})
}

//go:build linux

package fakenode

import (
	"context"
	"errors"
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// HelperFunc is a function that implements transport.Helper.
type HelperFunc func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error)

// Run implements transport.Helper.
func (f HelperFunc) Run(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	return f(ctx, in, verb, request, blobs...)
}

// Through returns the helper with its execs behind a seam, without a stream. An error of the
// seam is an exec that was interrupted.
func (cs *Containers) Through(seam effects.Seam) transport.Helper {
	return HelperFunc(func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
		var report *helperapi.Report
		effect := effects.Effect{Kind: effects.Exec, What: string(verb), On: fmt.Sprintf("%s/%s/%s", in.Namespace, in.Pod, in.Name)}
		err := seam(ctx, effect, func(context.Context) error {
			if c := cs.Get(in.PodUID, in.Name); c != nil && c.NoShell {
				return Fault(v1alpha1.ReasonNoShell)
			}
			var err error
			report, err = cs.Exec(in, verb, request, blobs)
			return err
		})
		var known *transport.Error
		if err != nil && !errors.As(err, &known) {
			err = &transport.Error{Reason: v1alpha1.ReasonExecFailed, Message: "The exec into the container was interrupted.", Err: err}
		}
		return report, err // both, if the helper reports an error
	})
}

// Prober probes endpoints as an operator does, through a seam.
type Prober struct {
	*Containers
	seam effects.Seam
}

// Prober returns a Prober that asks the containers.
func (cs *Containers) Prober(seam effects.Seam) Prober { return Prober{cs, seam} }

// Probe implements probe.Prober.
func (p Prober) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	effect := effects.Effect{Kind: effects.HTTP, What: "probe", On: fmt.Sprintf("%s:%d", address, process.Port)}
	err := p.seam(ctx, effect, func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ProbeFault
	})
	var known *transport.Error
	if err != nil && !errors.As(err, &known) {
		err = &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "The endpoint cannot be reached.", Err: errors.Join(probe.ErrUnreachable, err)}
	}
	return err
}

// Answers implements probe.Prober.
func (p Prober) Answers(ctx context.Context, process *v1alpha1.JavaProcess) (notices *helperapi.Notices, err error) {
	effect := effects.Effect{Kind: effects.HTTP, What: "health", On: fmt.Sprintf("%s:%d", process.Endpoint.Address, process.Endpoint.Port)}
	err = p.seam(ctx, effect, func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		notices = p.Notices
		return p.HealthFault
	})
	return notices, err
}

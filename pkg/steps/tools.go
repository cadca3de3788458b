package steps

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Tools are what the steps of one reconcile reach the world with. Decisions have none.
type Tools struct {
	// Helper runs the helper in the pod's containers.
	Helper Helper
	// Prober probes endpoints over HTTP.
	Prober probe.Prober
	// Writer writes the pod's annotations.
	Writer PodWriter
	// Persist writes the record.
	Persist func(context.Context) error
}

// Helper runs the helper in a container.
type Helper interface {
	transport.Helper
	// Open verifies that there is capacity for an operation in a container and that the
	// container answers, before the intent of the operation is recorded.
	Open(ctx context.Context, in transport.Container) error
}

// PodWriter writes the operator's annotations on a pod; implemented by
// pkg/apply/records.
type PodWriter interface {
	PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error
}

// failed returns the Outcome of a step whose effect failed with err.
func failed(err error) statemachine.Outcome {
	known, ok := errors.AsType[*transport.Error](err)
	if !ok {
		known = &transport.Error{Reason: v1alpha1.ReasonAPIError, Message: "The API server did not answer as expected; retrying.", Err: err}
	}
	o := record.NotDone(known.Reason, known.Message)
	o.Err = known.Err
	return o
}

// reasonOf returns the reason of a helper failure; empty for other errors.
func reasonOf(err error) string {
	if known, ok := errors.AsType[*transport.Error](err); ok {
		return known.Reason
	}
	return ""
}

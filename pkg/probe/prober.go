// Package probe asks the endpoints of JVMs over HTTP whether they serve, and whose they
// are.
package probe

import (
	"context"
	"errors"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// MetricsPath is the path of the metrics endpoint.
const MetricsPath = "/metrics"

// ErrForeign is the error of Answers if a foreign process answered.
var ErrForeign = errors.New("a foreign process answers")

// ErrUnreachable is the error of Probe if it could not connect, or if the connection was
// closed before an answer, for example by a service mesh that requires mutual TLS.
var ErrUnreachable = errors.New("unreachable")

// Prober probes endpoints.
type Prober interface {
	// Probe returns nil if the process's port at the address serves metrics or, where
	// those cannot be requested, is healthy. It returns an error that is ErrUnreachable
	// if the port cannot be reached, and another *transport.Error if it answers otherwise
	// or not in time. It ends in bounded time.
	Probe(ctx context.Context, address string, p *v1alpha1.JavaProcess) error
	// Answers checks whether the process still serves the endpoint in its record. It
	// returns an error that is ErrUnreachable if the endpoint cannot be reached,
	// ErrForeign if a foreign process answers, and another error if the server does not
	// speak HTTP. A server that accepts the connection but answers slowly counts as
	// answering: a JVM that collects garbage is still the same JVM. It returns the notices
	// of the agent; nil if the answer has none that are its own. It ends in bounded time,
	// and requests nothing expensive from the application.
	Answers(ctx context.Context, p *v1alpha1.JavaProcess) (*helperapi.Notices, error)
}

// Package transport holds sessions with the helper (cmd/jmx-attach) in containers of
// pods: it sends operations to the helper and returns its reports.
package transport

import (
	"cmp"
	"context"
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Ways holds a Dialer for each transport that the operator may use.
type Ways map[v1alpha1.Transport]Dialer

// Open implements Dialer.
func (w Ways) Open(ctx context.Context, in Container) (Session, error) {
	way := cmp.Or(in.Transport, v1alpha1.TransportExec)
	dialer, ok := w[way]
	if !ok {
		return nil, &Error{Reason: v1alpha1.ReasonTransportForbidden, Message: Forbidden(w.allowed(), way)}
	}
	return dialer.Open(ctx, in)
}

// allowed returns the value of the operator's flag that these ways follow from.
func (w Ways) allowed() v1alpha1.Transport {
	if len(w) != 1 {
		return v1alpha1.TransportAuto
	}
	for only := range w {
		return only
	}
	return ""
}

// Forbidden returns the message for a transport that the operator's flag --transport, which
// has the value allowed, rules out.
func Forbidden(allowed, way v1alpha1.Transport) string {
	return fmt.Sprintf("The operator runs with --transport=%s, which rules out %s: set spec.transport to Auto, or deploy the operator with all transports (config/default).", allowed, way)
}

// Dialer opens sessions. Implementations are safe for concurrent use. Open returns in
// bounded time, and its error is an *Error.
type Dialer interface {
	// Open starts a session with the helper in a container, which lasts until Close or
	// until ctx is done. Nothing is installed in a container that has neither a Java
	// process nor a helper: its session reports that there are no processes.
	Open(ctx context.Context, in Container) (Session, error)
}

// Session is a session with the helper in one container. It holds a place in Limits
// until Close. If the session itself fails, it is over: all further calls fail, too, and
// the outcome of the last call is unknown.
type Session interface {
	// Run executes one operation, in bounded time. Its error is an *Error. If the helper
	// itself reported the failure, Run also returns the Report, and the session stays
	// usable.
	Run(ctx context.Context, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error)
	// Hello returns what the helper reported about itself and its container, or the zero
	// Hello if the helper was not started.
	Hello() helperapi.Hello
	// Close ends the session, in bounded time.
	Close()
}

// Helper runs single operations of the helper in containers. Run returns in bounded
// time, and its error is an *Error. If the helper itself reported the failure, Run also
// returns the Report.
type Helper interface {
	Run(ctx context.Context, in Container, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error)
}

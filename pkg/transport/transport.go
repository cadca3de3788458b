// Package transport holds sessions with the helper (cmd/jmx-attach) in containers of
// pods: it sends operations to the helper and returns its reports.
package transport

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Container identifies a container of one particular pod, and how to reach it.
type Container struct {
	Namespace string
	Pod       string
	// PodUID is the UID under which the kubelet runs the pod.
	PodUID types.UID
	Name   string
	// ID is the container runtime's ID, <scheme>://<ID>; empty accepts whichever
	// container runs under the name. If another one runs, since the pod's status is
	// stale, the operation fails with ReasonReplaced.
	ID string
	// Node is the node that the pod runs on; sessions are limited per node.
	Node string
	// Space limits how much may be written to the container's /tmp.
	Space Space
	// Transport selects the dialer; empty means exec.
	Transport v1alpha1.Transport
	// Object is the pod as last observed. User is the JVM's user as found by an
	// inspection, if nothing else states it. Both are for a Door.
	Object *corev1.Pod
	User   *User
	// JVMUser is the user that the JVM is known to run as, for instance since it was
	// attached to by exec. A Door uses it if neither User, nor the kubelet, nor the pod's
	// spec states the user.
	JVMUser *User
	// Last allows a Door to add the last ephemeral container that a pod may have, which
	// is reserved for detaching.
	Last bool
	// Origin is the reason for the session, for the API server's audit log.
	Origin Origin
	// Transient makes the session leave nothing behind: when it ends, it removes the
	// files that it brought in.
	Transient bool
}

// Ways holds a Dialer for each transport that the operator may use.
type Ways map[v1alpha1.Transport]Dialer

// Open implements Dialer.
func (w Ways) Open(ctx context.Context, in Container) (Session, error) {
	way := cmp.Or(in.Transport, v1alpha1.TransportExec)
	dialer, ok := w[way]
	if !ok {
		return nil, &Error{Reason: v1alpha1.ReasonTransportForbidden, Message: Forbidden(way)}
	}
	return dialer.Open(ctx, in)
}

// Forbidden returns the message for a transport that the operator's flag rules out.
func Forbidden(way v1alpha1.Transport) string {
	other := v1alpha1.TransportExec
	if way == other {
		other = v1alpha1.TransportEphemeralContainer
	}
	return fmt.Sprintf("The operator runs with --transport=%s, which rules out %s: set spec.transport to Auto, or deploy the operator with both (config/default).", other, way)
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

// Error is the reason why an operation or a session failed.
type Error struct {
	// Reason is a condition reason of apis/v1alpha1.
	Reason string
	// Message is one sentence, which stays the same across retries.
	Message string
	// Err is the cause; nil if the helper reported the failure.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

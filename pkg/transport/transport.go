// Package transport holds sessions with the helper, cmd/jmx-attach, in containers of
// pods: it asks for operations and brings back the reports.
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

// Container is where the helper runs: a container of exactly this pod.
type Container struct {
	Namespace string
	Pod       string
	// PodUID is the UID under which the kubelet runs the pod.
	PodUID types.UID
	Name   string
	// ID is the runtime's, <scheme>://<ID>, of the container that is meant; empty for
	// whichever runs. The pod's status may be behind, which is then ReasonReplaced.
	ID string
	// Node is the node that the pod runs on; sessions are bounded for each.
	Node string
	// Space is how much may be written there.
	Space Space
	// Transport is the way to it; Exec if empty.
	Transport v1alpha1.Transport
	// Object is the pod as it was observed, and User whom an inspection found the JVM to
	// run as where nothing else says it: for a Door.
	Object *corev1.Pod
	User   *User
	// JVMUser is whom the JVM in it is known to run as, as when it was attached to by exec:
	// for a Door where neither User, nor the kubelet, nor the pod's spec says it.
	JVMUser *User
	// Last lets a Door add the last ephemeral container that a pod may have, which is
	// kept for detaching.
	Last bool
	// Origin is why there is to be a session, for the API server's audit log.
	Origin Origin
	// Transient has the session leave nothing there: what it brought in is removed
	// when it ends.
	Transient bool
}

// Ways is a Dialer by each transport that the operator may use.
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

// Forbidden says that the operator's flag rules a transport out.
func Forbidden(way v1alpha1.Transport) string {
	other := v1alpha1.TransportExec
	if way == other {
		other = v1alpha1.TransportEphemeralContainer
	}
	return fmt.Sprintf("The operator runs with --transport=%s, which rules out %s: set spec.transport to Auto, or deploy the operator with both (config/default).", other, way)
}

// Dialer opens sessions. Implementations are safe for concurrent use, and each Open
// ends in bounded time; its failure is an *Error.
type Dialer interface {
	// Open starts a conversation with the helper in a container, which ends with
	// Close, or with ctx. In a container in which no Java process runs and no helper
	// lies, nothing is installed: the session says that there are no processes.
	Open(ctx context.Context, in Container) (Session, error)
}

// Session is a conversation with the helper in one container. It holds one of the
// places that Limits has until Close. A failure of the conversation itself ends it:
// whatever follows fails, too, and what the last call came to is not known.
type Session interface {
	// Run asks for one operation, in bounded time. A failure is an *Error; when the
	// helper itself reported it, the Report is there too, and the session goes on.
	Run(ctx context.Context, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error)
	// Hello is what the helper said of itself and its container; the zero Hello where
	// it was not started.
	Hello() helperapi.Hello
	// Close ends the conversation, in bounded time.
	Close()
}

// Helper runs the helper in a container for one operation. A failure is an *Error;
// when the helper itself reported it, the Report is there too. Implementations are
// safe for concurrent use, and each Run ends in bounded time.
type Helper interface {
	Run(ctx context.Context, in Container, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error)
}

// Error says why the helper did not do what it was asked to.
type Error struct {
	// Reason is a condition's reason of apis/v1alpha1.
	Reason string
	// Message is one sentence that does not change from one try to the next.
	Message string
	// Err is the cause; nil when the helper reported the failure.
	Err error
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

package transport

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Sessions is a Helper for one reconcile of one pod. It opens a session with a container
// at the first operation in it, and reuses it until Close. It is not safe for concurrent
// use.
type Sessions struct {
	dialer Dialer
	open   map[sessionKey]Session
}

// sessionKey identifies an open session.
type sessionKey struct {
	container string
	transport v1alpha1.Transport
	user      User
}

func keyOf(in Container) sessionKey {
	return sessionKey{in.Name, in.Transport, ptr.Deref(in.User, User{})}
}

// NewSessions returns Sessions that are opened by dialer.
func NewSessions(dialer Dialer) *Sessions {
	return &Sessions{dialer: dialer, open: map[sessionKey]Session{}}
}

// Open opens a session with a container unless one is open.
func (s *Sessions) Open(ctx context.Context, in Container) error {
	_, err := s.session(ctx, in)
	return err
}

// Run implements Helper. If the session itself fails, the next operation opens a new one.
// The outcome of the failed operation is unknown, and has to be inspected.
func (s *Sessions) Run(ctx context.Context, in Container, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error) {
	session, err := s.session(ctx, in)
	if err != nil {
		return nil, err
	}
	report, err := session.Run(ctx, verb, request, blobs...)
	if err != nil && report == nil {
		session.Close()
		delete(s.open, keyOf(in))
	}
	return report, err
}

func (s *Sessions) session(ctx context.Context, in Container) (Session, error) {
	if session, ok := s.open[keyOf(in)]; ok {
		return session, nil
	}
	session, err := s.dialer.Open(ctx, in)
	if err != nil {
		return nil, err
	}
	if !in.matches(session.Hello().ContainerID) {
		session.Close()
		return nil, &Error{Reason: v1alpha1.ReasonReplaced, Message: fmt.Sprintf("Container %s was replaced, and the pod's status does not show it yet; waiting for the kubelet.", in.Name)}
	}
	s.open[keyOf(in)] = session
	return session, nil
}

// Close ends all sessions, in bounded time.
func (s *Sessions) Close() {
	for _, session := range s.open {
		session.Close()
	}
	clear(s.open)
}

package transport

import (
	"context"
	"errors"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
)

// Streams runs a command in a container with its three streams, until the command or
// ctx ends. Implementations are safe for concurrent use.
type Streams interface {
	Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error
}

// execStreams is the pods/exec subresource: over WebSocket, and over SPDY where
// something on the way does not know that upgrade.
type execStreams struct {
	config *rest.Config
	core   rest.Interface
}

// NewStreams returns the Streams of the API server of config; core is its client for
// the core group.
func NewStreams(config *rest.Config, core rest.Interface) Streams {
	return execStreams{config: config, core: core}
}

// Stream implements Streams.
func (s execStreams) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	url := s.core.Post().Namespace(in.Namespace).Resource("pods").Name(in.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: in.Name, Command: command, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	// An upgrade takes a connection of its own in any case: a copy costs none.
	config := rest.CopyConfig(s.config)
	config.UserAgent = in.Origin.userAgent(config.UserAgent)
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
	if err != nil {
		return err
	}
	webSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewFallbackExecutor(webSocket, spdy, withoutWebSocket)
	if err != nil {
		return err
	}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if no := answer(err); no != nil {
		return no
	}
	return err
}

// withoutWebSocket reports whether something on the way does not know WebSocket, so
// that SPDY is worth a try.
func withoutWebSocket(err error) bool {
	return answer(err) == nil && (httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err))
}

// answer is the API server's own no to the exec, which it would repeat over SPDY,
// where client-go would leave of it a text without a type. Nil if something else
// failed: a proxy on the way that knows no WebSocket, for instance.
func answer(err error) error {
	upgrade, ok := errors.AsType[*httpstream.UpgradeFailureError](err)
	if !ok {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](upgrade.Cause)
	if ok && (apierrors.IsUnauthorized(status) || apierrors.IsNotFound(status) || denied(status)) {
		return status
	}
	return nil
}

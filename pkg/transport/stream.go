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

// Streams runs a command in a container and connects its standard streams, until the
// command exits or ctx is done. Implementations are safe for concurrent use.
type Streams interface {
	Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error
}

// execStreams uses the pods/exec subresource: over WebSocket, or over SPDY if something
// on the path does not support the WebSocket upgrade.
type execStreams struct {
	config *rest.Config
	core   rest.Interface
}

// NewStreams returns Streams through the API server of config; core is its client for the
// core group.
func NewStreams(config *rest.Config, core rest.Interface) Streams {
	return execStreams{config: config, core: core}
}

// Stream implements Streams.
func (s execStreams) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	url := s.core.Post().Namespace(in.Namespace).Resource("pods").Name(in.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: in.Name, Command: command, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	// Each upgrade opens its own connection anyway, so the copy does not cost another one.
	config := rest.CopyConfig(s.config)
	config.UserAgent = in.Origin.userAgent(config.UserAgent)
	spdy, err := spdyExecutor(ctx, config, url)
	if err != nil {
		return err
	}
	webSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewFallbackExecutor(webSocket, spdy, needsSPDY)
	if err != nil {
		return err
	}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if rejected := apiServerError(err); rejected != nil {
		return rejected
	}
	return err
}

// needsSPDY reports whether something on the path does not support WebSocket, so that
// SPDY is worth a try.
func needsSPDY(err error) bool {
	return apiServerError(err) == nil && (httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err))
}

// apiServerError returns the API server's own answer to the exec, or nil if something else
// failed, for instance a proxy without support for WebSocket. The API server would repeat
// the answer over SPDY, but client-go would reduce it to a text without a type. A request
// that the API server calls bad may be one for an upgrade that it does not know.
func apiServerError(err error) error {
	upgrade, ok := errors.AsType[*httpstream.UpgradeFailureError](err)
	if !ok {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](upgrade.Cause)
	if ok && !apierrors.IsBadRequest(status) {
		return status
	}
	return nil
}

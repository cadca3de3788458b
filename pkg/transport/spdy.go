package transport

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// spdyExecutor does what remotecommand.NewSPDYExecutor does, and ends with ctx also while
// the server does not answer the upgrade: SpdyRoundTripper waits for the answer without a
// deadline (k8s.io/streaming, pkg/httpstream/spdy/roundtripper.go).
func spdyExecutor(ctx context.Context, config *rest.Config, target *url.URL) (remotecommand.Executor, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	proxy := config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{TLS: tls, Proxier: proxy, PingPeriod: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	upgrade.Dialer = &net.Dialer{ControlContext: func(_ context.Context, _, _ string, connection syscall.RawConn) error {
		context.AfterFunc(ctx, func() { shutDown(connection) })
		return nil
	}}
	transport, err := rest.HTTPWrappersForConfig(config, upgrade)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewSPDYExecutorForTransports(transport, clientspdy.NewUpgraderForStreaming(upgrade), http.MethodPost, target)
}

// shutDown makes reads and writes of a connection fail that may be closed already.
func shutDown(connection syscall.RawConn) {
	_ = connection.Control(func(fd uintptr) { _ = syscall.Shutdown(socket(fd), syscall.SHUT_RDWR) })
}

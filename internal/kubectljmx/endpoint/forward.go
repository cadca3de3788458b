package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// forward forwards a port of this machine's loopback address to the port of a pod, until
// the context ends, and returns its address, and the log of the forwarding, which
// alone says why a connection to the pod fails.
func forward(ctx context.Context, c *cluster.Cluster, t Target) (string, *forwardLog, error) {
	entries := &forwardLog{}
	ctx = klog.NewContext(ctx, funcr.New(func(_, args string) { entries.add(args) }, funcr.Options{}))
	dialer, err := dialer(c, t)
	if err != nil {
		return "", nil, err
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", t.Port)}, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	case err := <-ended:
		return "", nil, refused(t, err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), entries, nil
}

func dialer(c *cluster.Cluster, t Target) (httpstream.Dialer, error) {
	address := c.Clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.Namespace).Name(t.Pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.Config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, c.Config)
	if err != nil {
		return nil, err
	}
	// As in kubectl: an API server, or a proxy before it, that does not take a WebSocket.
	return portforward.NewFallbackDialerForStreaming(websocket, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// refused returns why nothing is forwarded.
func refused(t Target, err error) error {
	if err == nil {
		err = errors.New("the port-forward ended")
	}
	if apierrors.IsForbidden(err) {
		return cluster.Explain(err)
	}
	return fmt.Errorf("cannot forward a port to pod %s in namespace %s (it needs create on pods/portforward): %w", t.Pod, t.Namespace, err)
}

// forwardLog is what a port-forward logs while it runs.
type forwardLog struct {
	mutex   sync.Mutex
	entries []string
}

func (l *forwardLog) add(entry string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.entries = append(l.entries, entry)
}

// String is empty without entries.
func (l *forwardLog) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.entries) == 0 {
		return ""
	}
	return " (" + strings.Join(l.entries, "; ") + ")"
}

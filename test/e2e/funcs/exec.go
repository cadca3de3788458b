package funcs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

const execTimeout = 30 * time.Second

// Exec runs a command in the first container of every pod with the labels: one
// that may run again where the answer to a try was lost.
func Exec(namespace, label string, command ...string) features.Func {
	return podsOf(namespace, label).each(func(ctx context.Context, t *testing.T, c *cluster, pod *corev1.Pod) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			_, err := c.exec(ctx, pod.Namespace, pod.Name, pod.Spec.Containers[0].Name, command...)
			return err
		})
	})
}

// exec runs a command in a container and returns its standard output.
func (c *cluster) exec(ctx context.Context, namespace, pod, container string, command ...string) (string, error) {
	stdout, _, err := execAs(ctx, c.config, nil, namespace, pod, container, command...)
	return stdout, err
}

// execAs runs a command in a container as whom the config says; it reads stdin,
// unless that is nil.
func execAs(ctx context.Context, config *rest.Config, stdin io.Reader, namespace, pod, container string, command ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", "", err
	}
	address := kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, address.String())
	if err != nil {
		return "", "", err
	}
	var out, errs bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: &out, Stderr: &errs}); err != nil {
		return out.String(), errs.String(), fmt.Errorf("%s in pod %s: %w %s", strings.Join(command, " "), pod, err, errs.String())
	}
	return out.String(), errs.String(), nil
}

// errNoWay means that the pod could not be asked, whatever it would have said.
var errNoWay = errors.New("no way to the pod")

// get asks a pod over HTTP, through the API server.
func (c *cluster) get(ctx context.Context, namespace, pod string, port int32, pathAndQuery string) (body string, err error) {
	return c.getAs(ctx, namespace, pod, port, "http", pathAndQuery, "")
}

// getAs asks a pod over HTTP, or over HTTPS whatever its certificate, with a token
// unless that is empty.
func (c *cluster) getAs(ctx context.Context, namespace, pod string, port int32, scheme, pathAndQuery, token string) (body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	address := c.kube.CoreV1().RESTClient().Get().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	local, err := c.forward(ctx, address, port)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, local, pathAndQuery), nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	anyCertificate := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the operator's is self-signed
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: anyCertificate}}).Do(request)
	if err != nil {
		return "", fmt.Errorf("port %d of pod %s: %w", port, pod, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("port %d of pod %s: %s: %s", port, pod, response.Status, answer)
	}
	return string(answer), nil
}

// forward makes a port of a pod reachable until ctx ends.
func (c *cluster) forward(ctx context.Context, address *url.URL, port int32) (local uint16, err error) {
	dialer, err := portforward.NewSPDYOverWebsocketDialer(address, c.config)
	if err != nil {
		return 0, err
	}
	// That a port does not answer yet is told by the request, not on standard error.
	ctx = klog.NewContext(ctx, logr.Discard())
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf(":%d", port)}, ready, io.Discard, io.Discard)
	if err != nil {
		return 0, err
	}
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return 0, errors.Join(errNoWay, err)
	case <-ctx.Done(): // dialing does not know of it
		return 0, errors.Join(errNoWay, ctx.Err())
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return 0, err
	}
	return ports[0].Local, nil
}

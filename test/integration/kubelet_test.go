package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// kubelet is a node of the API server that forwards ports of its pods to servers of the
// test, with the code of a real kubelet's streaming server. It is the only part of a node
// that these tests need, and there is no node here that could run pods.
type kubelet struct {
	node  string
	mutex sync.Mutex
	// servers are the addresses behind ports of pods.
	servers map[string]string
}

// aKubelet starts a kubelet and adds its node.
func aKubelet(t *testing.T, node string) *kubelet {
	t.Helper()
	k := &kubelet{node: node, servers: map[string]string{}}
	server := httptest.NewTLSServer(http.HandlerFunc(k.serve))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	object := create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	object.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	if err := admin.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return k
}

// listen lets a server answer at a port of a pod.
func (k *kubelet) listen(pod *corev1.Pod, port int32, server *httptest.Server) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.servers[fmt.Sprintf("%s/%s:%d", pod.Namespace, pod.Name, port)] = server.Listener.Addr().String()
}

// forget closes all ports of pods.
func (k *kubelet) forget() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	clear(k.servers)
}

func (k *kubelet) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // portForward/NAMESPACE/POD
	if len(parts) < 3 || parts[0] != "portForward" {
		http.NotFound(w, r)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, parts[1]+"/"+parts[2], "", options, time.Hour, time.Minute, portforward.SupportedProtocols)
}

// PortForward implements portforward.PortForwarder.
func (k *kubelet) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	k.mutex.Lock()
	address, ok := k.servers[fmt.Sprintf("%s:%d", pod, port)]
	k.mutex.Unlock()
	if !ok {
		return fmt.Errorf("nothing listens on port %d of pod %s", port, pod)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(conn, stream) }()
	_, err = io.Copy(stream, conn)
	return err
}

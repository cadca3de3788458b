//go:build linux

package fakenode

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// idleTimeout ends a stream on which nothing happens; a kubelet's default is 4 hours.
	idleTimeout = time.Hour
	// creationTimeout is how long a client may take to open its streams.
	creationTimeout = time.Minute
)

// Kubelet serves execs, port-forwards and logs of the pods of any number of nodes. It is
// safe for concurrent use.
type Kubelet struct {
	containers *Containers
	server     *httptest.Server

	mu sync.Mutex
	// pods are those that run, by namespace and name.
	pods map[types.NamespacedName]types.UID
	// servers are the addresses behind ports of pods.
	servers map[string]string
}

// NewKubelet starts a kubelet, which runs until it is closed.
func NewKubelet(containers *Containers) *Kubelet {
	k := &Kubelet{containers: containers, pods: map[types.NamespacedName]types.UID{}, servers: map[string]string{}}
	k.server = httptest.NewUnstartedServer(http.HandlerFunc(k.serve))
	k.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of connections that are cut
	k.server.StartTLS()
	return k
}

// Close ends the kubelet.
func (k *Kubelet) Close() {
	k.server.CloseClientConnections()
	k.server.Close()
}

// Register creates a node whose pods are this kubelet's.
func (k *Kubelet) Register(ctx context.Context, c client.Client, name string) error {
	_, port, err := net.SplitHostPort(k.server.Listener.Addr().String())
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(ctx, node); err != nil {
		return err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	return c.Status().Update(ctx, node)
}

// Run makes execs and logs of a pod reach the containers that run under a UID.
func (k *Kubelet) Run(pod *corev1.Pod, uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods[client.ObjectKeyFromObject(pod)] = uid
}

// Listen lets a server answer at a port of a pod.
func (k *Kubelet) Listen(pod *corev1.Pod, port int32, server *httptest.Server) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.servers[fmt.Sprintf("%s/%s:%d", pod.Namespace, pod.Name, port)] = server.Listener.Addr().String()
}

// Forget closes all ports of pods.
func (k *Kubelet) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.servers)
}

// uid returns the UID of a pod that runs; empty if none does.
func (k *Kubelet) uid(namespace, name string) types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pods[types.NamespacedName{Namespace: namespace, Name: name}]
}

// serve serves /exec, /containerLogs and /portForward, each with /NAMESPACE/POD, and the
// container's name except for a port-forward.
func (k *Kubelet) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 4 && parts[0] == "exec":
		k.exec(w, r, Place{k.uid(parts[1], parts[2]), parts[3]})
	case len(parts) == 4 && parts[0] == "containerLogs":
		k.logs(w, Place{k.uid(parts[1], parts[2]), parts[3]})
	case len(parts) >= 3 && parts[0] == "portForward":
		k.portForward(w, r, parts[1]+"/"+parts[2])
	default:
		http.NotFound(w, r)
	}
}

func (k *Kubelet) exec(w http.ResponseWriter, r *http.Request, at Place) {
	if k.containers.Get(at.Pod, at.Name) == nil {
		http.Error(w, fmt.Sprintf("container not found (%q)", at.Name), http.StatusNotFound)
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, commands{k.containers, at}, "", "", "", r.Form["command"], options, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) logs(w http.ResponseWriter, at Place) {
	c := k.containers.Get(at.Pod, at.Name)
	if c == nil {
		http.Error(w, fmt.Sprintf("container not found (%q)", at.Name), http.StatusNotFound)
		return
	}
	fmt.Fprint(w, c.Log)
}

func (k *Kubelet) portForward(w http.ResponseWriter, r *http.Request, pod string) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, pod, "", options, idleTimeout, creationTimeout, portforward.SupportedProtocols)
}

package faults

import (
	"bytes"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The operator's sessions reach the containers of the node through the API server, over
// WebSocket and SPDY, and so do requests for logs.
func TestNode(t *testing.T) {
	t.Parallel()
	for protocol, spdy := range map[string]bool{"WebSocket": false, "SPDY": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.proxy.withoutWebSocket = spdy
			through := &rest.Config{Host: w.proxy.server.URL}
			clientset, err := kubernetes.NewForConfig(through)
			w.must(err)
			exec := transport.NewExec(transport.NewStreams(through, clientset.CoreV1().RESTClient()), artifacts, effects.Direct, transport.NewLimits(1, 1, 1))
			session, err := exec.Open(t.Context(), transport.Container{Namespace: w.namespace, Pod: podName, PodUID: w.pod.UID, Name: containerName})
			w.must(err)
			defer session.Close()
			report, err := session.Run(t.Context(), helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{artifacts.Agent.File}}, artifacts.Agent)
			w.must(err)
			if report == nil || !strings.HasSuffix(w.pod.Status.ContainerStatuses[0].ContainerID, session.Hello().ContainerID) {
				t.Errorf("the session is with container %q", session.Hello().ContainerID)
			}
			c := w.containers.Get(w.pod.UID, containerName)
			if files, _ := c.Files(); len(files) != 2 || len(c.Partial()) > 0 {
				t.Errorf("the helper and the agent are not staged: %v", files)
			}
			c.Log = "a line\n"
			logs, err := clientset.CoreV1().Pods(w.namespace).GetLogs(podName, &corev1.PodLogOptions{Container: containerName}).Stream(t.Context())
			w.must(err)
			defer logs.Close()
			content, err := io.ReadAll(logs)
			if err != nil || !bytes.Equal(content, []byte(c.Log)) {
				t.Errorf("the log is %q (%v)", content, err)
			}
		})
	}
}

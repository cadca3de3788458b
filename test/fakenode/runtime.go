//go:build linux

package fakenode

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// commands implements remotecommand.Executor for one container.
type commands struct {
	containers *Containers
	at         Place
}

// ExecInContainer implements remotecommand.Executor.
func (c commands) ExecInContainer(_ context.Context, _, _, _ string, command []string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return c.containers.Command(c.at, command, in, out)
}

// PortForward implements portforward.PortForwarder.
func (k *Kubelet) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	k.mu.Lock()
	address, ok := k.servers[fmt.Sprintf("%s:%d", pod, port)]
	k.mu.Unlock()
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

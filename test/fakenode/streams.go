//go:build linux

package fakenode

import (
	"context"
	"errors"
	"io"

	clientexec "k8s.io/client-go/util/exec"
	"k8s.io/utils/exec"

	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// streams are execs into the containers without an API server and a kubelet between: the
// layers above, with limits and timeouts, are the operator's own.
type streams struct{ *Containers }

// Streams returns the execs of a transport.Exec.
func (cs *Containers) Streams() transport.Streams { return streams{cs} }

// Stream implements transport.Streams.
func (s streams) Stream(ctx context.Context, in transport.Container, command []string, stdin io.Reader, stdout, _ io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Command(Place{in.PodUID, in.Name}, command, stdin, stdout) }()
	select {
	case err := <-ended:
		if exited, ok := errors.AsType[exec.CodeExitError](err); ok { // as the client has it from the API server
			return clientexec.CodeExitError{Err: exited.Err, Code: exited.Code}
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

//go:build linux

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	utilexec "k8s.io/client-go/util/exec"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

// agent is the node agent of this machine, with all of its processes. It is the streams of
// execs into it.
type agent struct {
	from *image
	// programs are the containers by ID whose program conducts the conversation, as if it had
	// taken the place of a child of the agent.
	programs map[string]*container
	taken    *atomic.Int64
}

// newAgent returns the node agent, for containers some of which have programs.
func newAgent(from *image, hostile *container) agent {
	a := agent{from: from, programs: map[string]*container{}, taken: &hostile.taken}
	if hostile.program != "" {
		a.programs[hostile.id] = hostile
	}
	return a
}

// startAgent starts the agent's main process, which allows the containers what these have of
// the node.
func startAgent(t *testing.T, from *image) {
	t.Helper()
	jvmtest.Run(t, exec.CommandContext(t.Context(), filepath.Join(from.dir, "jmx-attach"), "node",
		"--allow-host-network", "--allow-host-ipc", "--allow-privileged", "--allow-capabilities=ALL", "--allow-host-paths=/")).AwaitOutput("sessions.\n")
}

// On implements transport.Agents.
func (agent) On(_ context.Context, node string) (transport.Container, error) {
	return transport.Container{Namespace: "operator", Pod: "agent", PodUID: "agent", Name: "node-agent", ID: "containerd://agent", Node: node}, nil
}

// Stream implements transport.Streams.
func (a agent) Stream(ctx context.Context, _ transport.Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(a.programs) == 0 {
		return stream(ctx, exec.Command(filepath.Join(a.from.dir, "jmx-attach"), command[1:]...), a.taken, stdin, stdout, stderr)
	}
	fromAgent, toOperator := io.Pipe()
	defer toOperator.Close()
	go func() { _, _ = io.Copy(counting{stdout, a.taken}, fromAgent) }() // the operator's side ends it
	s := mux.Server(stdin, toOperator, 8, func(s *mux.Stream) {
		a.converse(ctx, s)
	})
	select {
	case <-s.Done():
	case <-ctx.Done():
		s.Close(ctx.Err())
	}
	s.Wait()
	return nil
}

// converse has a container's program conduct a conversation, and says how it failed as the
// agent does. A container without one has no Java.
func (a agent) converse(ctx context.Context, s *mux.Stream) {
	defer s.Close("")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { <-s.Done(); cancel() }()
	in := bufio.NewReader(s)
	var target helperapi.NodeTarget
	line, err := helperapi.ReadLine(in, 1<<10)
	if err == nil {
		err = json.Unmarshal(line, &target)
	}
	if err != nil {
		return
	}
	c := a.programs[target.ContainerID]
	if c == nil {
		_, _ = io.WriteString(s, `{"hello":{"version":"1"}}`+"\n")
		if _, err := in.ReadBytes('\n'); err == nil {
			_, _ = io.WriteString(s, `{"id":1,"report":{}}`+"\n")
		}
		s.CloseWrite()
		return
	}
	err = stream(ctx, c.execs(transport.DoorCommand()), new(atomic.Int64), in, s, io.Discard)
	if exit, ok := err.(utilexec.CodeExitError); ok { //nolint:errorlint // it is not wrapped
		reason := helperapi.Reason("HelperFailed")
		if exit.Code == 128+9 {
			reason = "HelperKilled"
		}
		_, err = fmt.Fprintf(s, "\n"+`{"report":{"error":{"reason":%q,"message":"It ended with %d."}}}`+"\n", reason, exit.Code)
	}
	if err == nil {
		s.CloseWrite()
	}
}

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// maxAgentStderr limits what is kept of the standard error of an exec, in bytes.
const maxAgentStderr = 4 << 10

// NodeCommand returns the command of a session in a node agent. It contains no digests: the
// helper stages and loads the jars of its own image; and no target, which the session itself
// names.
func NodeCommand() []string {
	return []string{helperapi.DoorProgram, string(helperapi.VerbServe), helperapi.ServeOnNode}
}

// agentExec is an exec into a node agent, which many conversations share.
type agentExec struct {
	agent Container
	mux   *mux.Session
	// conversations is the number of those that have not ended, and idle ends the exec once
	// there has been none for agentIdle.
	conversations int
	idle          *time.Timer
	// retired means that new conversations use another exec.
	retired bool
}

// startAgentExec executes the session's command in a node agent. It does not wait. over is
// called once the exec has ended.
func startAgentExec(ctx context.Context, streams Streams, seam effects.Seam, agent Container, over func(*agentExec)) *agentExec {
	// It outlives the conversation for which it begins, and ends with its own session.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fromAgent, stdout := io.Pipe()
	stdin, toAgent := io.Pipe()
	a := &agentExec{agent: agent, mux: mux.Client(fromAgent, toAgent)}
	go func() {
		<-a.mux.Done()
		// The end of its input is the end of the command; the stream is canceled if that does
		// not help.
		toAgent.CloseWithError(io.EOF)
		fromAgent.CloseWithError(a.mux.Err())
		late := time.AfterFunc(wire.CloseTimeout, func() { cancel(a.mux.Err()) })
		context.AfterFunc(ctx, func() { late.Stop() })
	}()
	go func() {
		defer over(a)
		ended := make(chan error, 1)
		err := seam(ctx, effects.Effect{Kind: effects.Exec, What: "node", On: agent.Namespace + "/" + agent.Pod}, func(ctx context.Context) error {
			go func() {
				stderr := &prefix{}
				err := streams.Stream(ctx, agent, NodeCommand(), stdin, stdout, stderr)
				ended <- classifyAgent(err, text.Line(stderr.String(), 200), a.begun())
			}()
			select {
			case <-a.mux.Begun():
				return nil
			case err := <-ended:
				ended <- err
				return err
			case <-a.mux.Done():
				return a.mux.Err()
			}
		})
		if err == nil {
			err = <-ended
		}
		a.mux.Close(err)
		cancel(err)
		stdin.CloseWithError(err)
		stdout.CloseWithError(err)
	}()
	return a
}

// begun reports whether the command in the agent has said anything.
func (a *agentExec) begun() bool {
	select {
	case <-a.mux.Begun():
		return true
	default:
		return false
	}
}

// serves reports whether new conversations with a node agent may use the exec.
func (a *agentExec) serves(agent Container) bool {
	return !a.retired && a.mux.Err() == nil && a.agent.PodUID == agent.PodUID && a.agent.ID == agent.ID
}

// converse connects a conversation about a container, until it ends or ctx is done. It
// never ends the exec, unless that shows no sign of life. It sets as to its stream.
func (a *agentExec) converse(ctx context.Context, in Container, stdin io.Reader, stdout io.Writer, as *atomic.Pointer[mux.Stream]) error {
	target, err := json.Marshal(helperapi.NodeTarget{PodUID: string(in.PodUID), ContainerID: in.runtimeID()})
	if err != nil {
		return err
	}
	received := a.mux.Received()
	stream, err := a.mux.Open()
	if err != nil {
		return err
	}
	as.Store(stream)
	defer stream.Close("")
	defer context.AfterFunc(ctx, func() {
		stream.Close("the operator does not wait any longer")
		// The agent acknowledges each stream, whatever its container does.
		if hung := context.Cause(ctx); errors.Is(hung, errNotResponding) && a.mux.Received() == received {
			a.mux.Close(agentNotResponding(hung))
		}
	})()
	go func() {
		_, err := stream.Write(append(target, '\n'))
		if err == nil {
			_, err = io.Copy(stream, stdin)
		}
		if err == nil {
			stream.CloseWrite()
		}
	}()
	_, err = io.Copy(stdout, stream)
	return err
}

// prefix keeps the beginning of what is written to it. It is safe for concurrent use, since
// client-go keeps writing for a while after a stream was canceled.
type prefix struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (p *prefix) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(p.kept, b[:min(len(b), maxAgentStderr-len(p.kept))]...)
	return len(b), nil
}

// String returns what was kept.
func (p *prefix) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.kept)
}

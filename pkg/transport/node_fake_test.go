package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

// viaNode is app on a node with a node agent.
var viaNode = Container{Namespace: "ns", Pod: "app-0", PodUID: "uid-1", Name: "app", ID: "containerd://0abc", Node: "node-1"}

// agents is Agents with one on each node.
type agents struct{}

// On implements Agents.
func (agents) On(_ context.Context, node string) (Container, error) { return agentOn(node), nil }

func agentOn(node string) Container {
	return Container{Namespace: "operator", Pod: "agent-" + node, PodUID: types.UID("agent-uid-" + node), Name: "node-agent", ID: "containerd://agent-" + node, Node: node}
}

// agentsFunc is Agents that are found by a function.
type agentsFunc func(ctx context.Context, node string) (Container, error)

// On implements Agents.
func (f agentsFunc) On(ctx context.Context, node string) (Container, error) { return f(ctx, node) }

// aNode is a Node with these execs into its agents, until the end of the test.
func aNode(t *testing.T, streams Streams) *Node {
	t.Helper()
	n := NewNode(streams, agents{}, &Artifacts{}, effects.Direct, NewLimits(64, 64, 64))
	t.Cleanup(n.Close)
	return n
}

// agentsWith are execs into fake node agents, in which containers are the conversations: a
// pod has the name of its UID. One that fails is answered as the agent does.
func agentsWith(containers Streams) Streams {
	return act(func(ctx context.Context, stdin *bufio.Reader, stdout, _ io.Writer) error {
		s := mux.Server(stdin, stdout, 64, func(stream *mux.Stream) {
			defer stream.Close("")
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() { <-stream.Done(); cancel() }()
			in := bufio.NewReader(stream)
			var target helperapi.NodeTarget
			line, err := helperapi.ReadLine(in, 1<<10)
			if err == nil {
				err = json.Unmarshal(line, &target)
			}
			if err == nil {
				err = containers.Stream(ctx, Container{Pod: target.PodUID, PodUID: types.UID(target.PodUID), ID: target.ContainerID}, nil, in, stream, io.Discard)
			}
			if refusal, ok := errors.AsType[*helperapi.Error](err); ok {
				answer, _ := json.Marshal(helperapi.Answer{Report: &helperapi.Report{Error: refusal}}) // never fails
				_, err = fmt.Fprintf(stream, "\n%s\n", answer)
			}
			if err == nil {
				stream.CloseWrite()
			}
		})
		select {
		case <-s.Done():
		case <-ctx.Done():
			s.Close(ctx.Err())
		}
		s.Wait()
		return nil
	})
}

// refuses ends a conversation as the agent does, with an error.
func refuses(reason helperapi.Reason, message string) act {
	return dies(&helperapi.Error{Reason: reason, Message: message})
}

// execs counts the execs into node agents, by pod. It is safe for concurrent use.
type execs struct {
	Streams
	mu    sync.Mutex
	began map[string]int
	runs  int
}

// Stream implements Streams.
func (e *execs) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	e.count(in.Pod, 1)
	defer e.count(in.Pod, -1)
	return e.Streams.Stream(ctx, in, command, stdin, stdout, stderr)
}

func (e *execs) count(pod string, change int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.began == nil {
		e.began = map[string]int{}
	}
	e.runs += change
	e.began[pod] += max(change, 0)
}

// on returns how many execs into the agent of a node began.
func (e *execs) on(node string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.began["agent-"+node]
}

// want checks how many execs into the agent of a node began, and how many run in all.
func (e *execs) want(t *testing.T, node string, began, run int) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if got := e.began["agent-"+node]; got != began || e.runs != run {
		t.Errorf("%d execs into the agent of %s began, and %d run; want %d and %d", got, node, e.runs, began, run)
	}
}

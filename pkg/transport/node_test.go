package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// opens opens a session, which ends with the test.
func (n *Node) opens(t *testing.T, in Container) Session {
	t.Helper()
	s, err := n.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// inspects performs a call, which has to succeed.
func inspects(t *testing.T, s Session) {
	t.Helper()
	if _, err := s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{}); err != nil {
		t.Error(err)
	}
}

// helpful says hello and answers any number of calls.
var helpful = acts(prints(hello), func(_ context.Context, stdin *bufio.Reader, stdout, _ io.Writer) error {
	for {
		call, err := helperapi.ReadCall(stdin)
		if err != nil {
			return nil // the session was closed
		}
		if _, err := fmt.Fprintf(stdout, `{"id":%d,"report":{}}`+"\n", call.ID); err != nil {
			return err
		}
	}
})

// A conversation names its container, sends what the agent lacks, passes the seam, and frees
// its place.
func TestNodeSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := aNode(t, agentsWith(acts(prints(hello),
			reads(`{"id":1,"verb":"inspect","request":{"podUID":"uid-1","containerID":"0abc"}}`+"\n"), prints(`{"id":1,"report":{"processes":[{"pid":7,"startTime":9}]}}`+"\n"),
			reads(`{"id":2,"verb":"stage","request":{"podUID":"uid-1","containerID":"0abc"}}`+"\n"), prints(`{"id":2,"send":7}`+"\n"), reads("content"), prints(`{"id":2,"report":{}}`+"\n"),
			answers(3, `{"error":{"reason":"Busy","message":"Another one works on it."}}`), untilEnd)))
		var mu sync.Mutex
		var seen []string
		seam := func(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
			mu.Lock()
			seen = append(seen, effect.String())
			mu.Unlock()
			return do(ctx)
		}
		n.exec.seam, n.agents.seam = seam, seam
		s := n.opens(t, viaNode)
		report, err := s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
		if err != nil || len(report.Processes) != 1 || s.Hello().Version != "1" {
			t.Errorf("inspect: %+v, %v, after %+v", report, err, s.Hello())
		}
		_, err = s.Run(t.Context(), helperapi.VerbStage, helperapi.Request{}, NewBlob("", []byte("con"), ""), NewBlob("", []byte("tent"), ""))
		wantError(t, err, "", "")
		report, err = s.Run(t.Context(), helperapi.VerbLoad, helperapi.Request{})
		wantError(t, err, v1alpha1.ReasonBusy, "Another one works on it.")
		if report == nil {
			t.Error("the report of the failure is missing")
		}
		s.Close()
		wantFree(t, n.exec.limits)
		want := []string{"exec session ns/app-0/app", "exec node operator/agent-node-1", "helper inspect ns/app-0/app", "helper stage ns/app-0/app", "helper load ns/app-0/app"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("effects (-want +got):\n%s", diff)
		}
	})
}

// However a conversation fails, its error is typed, its place is free, and the exec serves
// others.
func TestNodeSessionBreaksOff(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	cases := map[string]struct {
		act  act
		open bool // it fails while it is opened
		want string
		says string
	}{
		"the agent refuses":              {refuses("NodeAgentRefused", "The container is privileged."), true, v1alpha1.ReasonNodeAgentRefused, "The container is privileged."},
		"the agent cannot tell":          {dies(&helperapi.Error{Reason: helperapi.ReasonNodeAgentRefused, Message: "No capability.", Unsettled: true}), true, v1alpha1.ReasonNodeAgentUndecided, "No capability."},
		"the agent fails without reason": {refuses("x-8f3a", "oh\nno"), true, v1alpha1.ReasonHelperFailed, "oh"},
		"no helper":                      {acts(prints("hello\n"), hangs), true, v1alpha1.ReasonHelperFailed, "its image"},
		"the helper ends at once":        {dies(nil), true, v1alpha1.ReasonHelperFailed, "exited before it answered"},
		"the stream is reset at once":    {dies(io.ErrUnexpectedEOF), true, v1alpha1.ReasonExecFailed, "The node agent broke off the conversation"},
		"the helper says nothing":        {hangs, true, v1alpha1.ReasonContainerNotResponding, "processes of the container hang"},
		"the helper floods":              {acts(floods("\n")), true, v1alpha1.ReasonHelperFailed, "exceeded the limit"},
		"the helper is killed":           {acts(prints(hello), readsCall, refuses("HelperKilled", "It was ended by signal 9")), false, v1alpha1.ReasonHelperKilled, "signal 9."},
		"killed in the middle of a file": {acts(prints(hello), readsCall, prints(`{"id":1,"send":1048576}`+"\n"), reads(long[:1<<19]), refuses("HelperKilled", "It was ended by signal 9")), false, v1alpha1.ReasonHelperKilled, "signal 9."},
		"killed in the middle of a line": {acts(prints(hello), readsCall, prints(`{"id":1,`), refuses("HelperKilled", "It was ended by signal 9")), false, v1alpha1.ReasonHelperFailed, "cannot be read"},
		"the stream is reset":            {acts(prints(hello), readsCall, dies(io.ErrUnexpectedEOF)), false, v1alpha1.ReasonExecFailed, "The node agent broke off the conversation"},
		"the helper ends":                {acts(prints(hello), dies(nil)), false, v1alpha1.ReasonHelperFailed, "exited before it answered"},
		"the answer to another call":     {acts(prints(hello), readsCall, prints(`{"id":7,"report":{}}`+"\n"), hangs), false, v1alpha1.ReasonHelperFailed, "cannot be read"},
		"an answer without end":          {acts(prints(hello), readsCall, floods("x")), false, v1alpha1.ReasonHelperFailed, "exceeded the limit"},
		"no answer":                      {acts(prints(hello), readsCall, hangs), false, v1alpha1.ReasonExecTimeout, "in time"},
		"contents are not read":          {acts(prints(hello), readsCall, prints(`{"id":1,"send":1048576}`+"\n"), hangs), false, v1alpha1.ReasonExecTimeout, "in time"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				streams := &execs{}
				streams.Streams = agentsWith(byPod{"uid-1": tc.act, "uid-2": helpful})
				n := aNode(t, streams)
				other := viaNode
				other.PodUID = "uid-2"
				healthy := n.opens(t, other)
				s, err := n.Open(t.Context(), viaNode)
				if tc.open {
					wantError(t, err, tc.want, tc.says)
					agents := tc.want == v1alpha1.ReasonHelperFailed || tc.want == v1alpha1.ReasonExecFailed
					if errors.Is(err, ErrNotOpened) != agents {
						t.Errorf("%v is the agent's own failure: want %t", err, agents)
					}
				} else {
					wantError(t, err, "", "")
				}
				if !tc.open && err == nil {
					call := func() error {
						_, err := s.Run(t.Context(), helperapi.VerbStage, helperapi.Request{}, NewBlob("", []byte(long), ""))
						return err
					}
					err := call()
					wantError(t, err, tc.want, tc.says)
					if errors.Is(err, ErrNotOpened) { // something may have been executed
						t.Errorf("the session was opened: %v", err)
					}
					if _, ok := errors.AsType[*Error](call()); !ok {
						t.Error("a further call does not fail")
					}
				}
				if s != nil {
					s.Close()
				}
				inspects(t, healthy)
				healthy.Close()
				wantFree(t, n.exec.limits)
				streams.want(t, "node-1", 1, 1)
			})
		})
	}
}

// byPod are the conversations with pods by their UIDs.
type byPod map[string]act

// Stream implements Streams.
func (p byPod) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return p[in.Pod].Stream(ctx, in, command, stdin, stdout, stderr)
}

// Conversations with many containers of a node share one exec, which ends when none was held
// for a while, and is opened again. Each node has its own.
func TestNodeSharesExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := &execs{Streams: agentsWith(helpful)}
		n := aNode(t, streams)
		var wg sync.WaitGroup
		for i := range 40 {
			in := viaNode
			in.PodUID, in.Node = types.UID(strconv.Itoa(i)), fmt.Sprint("node-", 1+i%2)
			wg.Go(func() {
				s, err := n.Open(t.Context(), in)
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					inspects(t, s)
				}
				s.Close()
			})
		}
		wg.Wait()
		streams.want(t, "node-1", 1, 2)
		time.Sleep(agentIdle - time.Second)
		s := n.opens(t, viaNode)
		synctest.Wait()
		streams.want(t, "node-1", 1, 2)
		time.Sleep(2 * agentIdle) // a conversation lasts
		streams.want(t, "node-1", 1, 1)
		inspects(t, s)
		s.Close()
		time.Sleep(agentIdle + time.Second)
		streams.want(t, "node-1", 1, 0)
		inspects(t, n.opens(t, viaNode))
		streams.want(t, "node-1", 2, 1)
		wantNoExec(t, n, "node-2")
	})
}

func wantNoExec(t *testing.T, n *Node, node string) {
	t.Helper()
	n.agents.mu.Lock()
	defer n.agents.mu.Unlock()
	if n.agents.byNode[node] != nil {
		t.Errorf("an exec into the agent of %s is still known", node)
	}
}

// A lost exec ends the conversations that used it with an error that is retried; the next one
// opens another exec. So does a new agent, beside which the old conversations end in peace.
func TestNodeReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lose := make(chan error)
		streams := &execs{}
		streams.Streams = act(func(ctx context.Context, stdin *bufio.Reader, stdout, stderr io.Writer) error {
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() { ended <- agentsWith(helpful).Stream(ctx, Container{}, nil, stdin, stdout, stderr) }()
			select {
			case err := <-lose:
				return err
			case err := <-ended:
				return err
			}
		})
		n := aNode(t, streams)
		agent := agentOn("node-1")
		n.agents.agents = agentsFunc(func(context.Context, string) (Container, error) { return agent, nil })
		for i, err := range []error{io.ErrUnexpectedEOF, exited(137, "killed"), nil} {
			s := n.opens(t, viaNode)
			inspects(t, s)
			lose <- err
			synctest.Wait()
			_, err = s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
			wantError(t, err, v1alpha1.ReasonExecFailed, "another one is opened")
			s.Close()
			synctest.Wait()
			streams.want(t, "node-1", i+1, 0)
		}
		s := n.opens(t, viaNode)
		agent.PodUID, agent.ID = "agent-uid-2", "containerd://other"
		inspects(t, n.opens(t, viaNode))
		inspects(t, s)
		streams.want(t, "node-1", 5, 2)
		s.Close()
		synctest.Wait()
		streams.want(t, "node-1", 5, 1)
		wantFree(t, limitsWithout(n))
	})
}

func limitsWithout(n *Node) *Limits { n.Close(); synctest.Wait(); return n.exec.limits }

// An agent that hangs costs only the conversations on its node, for a bounded time, and the
// next one uses another exec.
func TestNodeAgentHangs(t *testing.T) {
	for name, hung := range map[string]act{
		"it says nothing": hangs,
		"nor does its stream end": func(context.Context, *bufio.Reader, io.Writer, io.Writer) error {
			time.Sleep(time.Hour)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				hangs := true
				streams := &execs{}
				streams.Streams = streamsFunc(func(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
					mu.Lock()
					answers := in.Node != "node-1" || !hangs
					mu.Unlock()
					if answers {
						return agentsWith(helpful).Stream(ctx, in, command, stdin, stdout, stderr)
					}
					return hung.Stream(ctx, in, command, stdin, stdout, stderr)
				})
				n := aNode(t, streams)
				begin := time.Now()
				failed := make(chan error)
				go func() { _, err := n.Open(t.Context(), viaNode); failed <- err }()
				other := viaNode
				other.Node, other.Name = "node-2", "other"
				inspects(t, n.opens(t, other))
				if took := time.Since(begin); took > 0 {
					t.Errorf("the other node waits for %s", took)
				}
				err := <-failed
				wantError(t, err, v1alpha1.ReasonContainerNotResponding, "The node agent did not answer within 5s")
				if !errors.Is(err, ErrNotOpened) {
					t.Errorf("%v is not the agent's own failure", err)
				}
				if outcome, tried := n.exec.limits.outcomes.Get(viaNode.key()); tried {
					t.Errorf("the container counts as tried: %v", outcome)
				}
				if took := time.Since(begin); took != helloTimeout {
					t.Errorf("it took %s", took)
				}
				mu.Lock()
				hangs = false
				mu.Unlock()
				synctest.Wait()
				inspects(t, n.opens(t, viaNode))
				if got := streams.on("node-1"); got != 2 {
					t.Errorf("%d execs began", got)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

type streamsFunc func(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error

// Stream implements Streams.
func (f streamsFunc) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return f(ctx, in, command, stdin, stdout, stderr)
}

// The context of a caller ends its own conversation only, in its opening and in a call.
func TestNodeIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := &execs{Streams: agentsWith(byPod{"uid-1": hangs, "uid-2": helpful, "uid-3": acts(prints(hello), hangs)})}
		n := aNode(t, streams)
		of := func(uid types.UID) Container { in := viaNode; in.PodUID = uid; return in }
		canceled, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first, err := n.Open(canceled, of("uid-2")) // the exec begins with it
		if err != nil {
			t.Fatal(err)
		}
		healthy := n.opens(t, of("uid-2"))
		_, err = n.Open(canceled, of("uid-1"))
		wantError(t, err, v1alpha1.ReasonExecTimeout, "")
		_, err = first.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
		wantError(t, err, v1alpha1.ReasonExecTimeout, "")
		first.Close()
		calls, cancelCall := context.WithTimeout(t.Context(), time.Second)
		defer cancelCall()
		third := n.opens(t, of("uid-3"))
		_, err = third.Run(calls, helperapi.VerbInspect, helperapi.Request{})
		wantError(t, err, v1alpha1.ReasonExecTimeout, "")
		third.Close()
		inspects(t, healthy)
		healthy.Close()
		streams.want(t, "node-1", 1, 1)
		wantFree(t, n.exec.limits)
	})
}

// What is wrong with the agent is never reported as something about the target.
func TestNodeAgentErrors(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	missing := &Error{Reason: v1alpha1.ReasonNodeAgentMissing, Message: "No node agent runs on the node."}
	for name, tc := range map[string]struct {
		agents  error
		streams error
		act     act
		want    string
		says    string
	}{
		"there is none":       {agents: missing, want: v1alpha1.ReasonNodeAgentMissing, says: "No node agent"},
		"its pod is gone":     {streams: apierrors.NewNotFound(pods, "agent"), want: v1alpha1.ReasonNodeAgentPending, says: "waiting for the next one"},
		"RBAC":                {streams: apierrors.NewForbidden(pods, "agent", errors.New(`User "x" cannot create resource "pods/exec"`)), want: v1alpha1.ReasonExecForbidden, says: "its own namespace"},
		"a policy":            {streams: apierrors.NewForbidden(pods, "agent", errors.New(`ValidatingAdmissionPolicy 'x' denied request: no`)), want: v1alpha1.ReasonExecRefused, says: "into the node agent"},
		"the API server":      {streams: apierrors.NewInternalError(errors.New("oh")), want: v1alpha1.ReasonExecFailed, says: "oh"},
		"another image":       {streams: exited(127, ""), want: v1alpha1.ReasonHelperFailed, says: "The session in the node agent failed"},
		"it is no agent":      {says: "cannot be read", want: v1alpha1.ReasonHelperFailed, act: acts(prints("a shell at your service\n"), hangs)},
		"the network":         {streams: io.ErrUnexpectedEOF, want: v1alpha1.ReasonExecFailed, says: "was interrupted"},
		"it ends immediately": {want: v1alpha1.ReasonHelperFailed, says: "ended the session"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tc.act == nil {
					tc.act = dies(tc.streams)
				}
				n := aNode(t, tc.act)
				n.agents.agents = agentsFunc(func(_ context.Context, node string) (Container, error) { return agentOn(node), tc.agents })
				_, err := n.Open(t.Context(), viaNode)
				wantError(t, err, tc.want, tc.says)
				agents := tc.want == v1alpha1.ReasonHelperFailed || tc.want == v1alpha1.ReasonExecFailed || tc.want == v1alpha1.ReasonNodeAgentPending
				if errors.Is(err, ErrNotOpened) != agents {
					t.Errorf("%v is the agent's own failure: want %t", err, agents)
				}
				wantFree(t, n.exec.limits)
			})
		})
	}
	t.Run("the container does not run", func(t *testing.T) {
		_, err := aNode(t, nil).Open(t.Context(), app)
		wantError(t, err, v1alpha1.ReasonContainerNotRunning, "")
	})
}

// The operator may die before or after the exec into the agent: nothing is left.
func TestNodeThroughSeam(t *testing.T) {
	crash := errors.New("crash")
	for name, seam := range map[string]effects.Seam{
		"before": func(context.Context, effects.Effect, func(context.Context) error) error { return crash },
		"after": func(ctx context.Context, _ effects.Effect, do func(context.Context) error) error {
			return errors.Join(do(ctx), crash)
		},
	} {
		for _, of := range []string{"session", "node"} {
			t.Run(name+" the effect of "+of, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					streams := &execs{Streams: agentsWith(helpful)}
					n := aNode(t, streams)
					crashing := func(ctx context.Context, e effects.Effect, do func(context.Context) error) error {
						if e.What != of {
							return do(ctx)
						}
						return seam(ctx, e, do)
					}
					n.exec.seam, n.agents.seam = crashing, crashing
					if s, err := n.Open(t.Context(), viaNode); err == nil {
						_, err = s.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
						s.Close()
						if of == "session" || err == nil && name == "before" {
							t.Errorf("got %v", err)
						}
					}
					wantFree(t, limitsWithout(n))
					synctest.Wait()
					streams.want(t, "node-1", streams.on("node-1"), 0)
				})
			})
		}
	}
}

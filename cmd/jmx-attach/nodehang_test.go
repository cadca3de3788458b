//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

// asks begins a conversation about a container, and does not wait for the hello.
func (n *nodeTalk) asks(target helperapi.NodeTarget) *talk {
	n.t.Helper()
	line, err := json.Marshal(target)
	if err != nil {
		n.t.Fatal(err)
	}
	return n.begin(string(line))
}

// child returns the process of the only conversation.
func (n *nodeTalk) child() int {
	n.t.Helper()
	pids := n.childrenOf()
	if len(pids) != 1 {
		n.t.Fatalf("the children are %v", pids)
	}
	return pids[0]
}

// await waits until something is the case.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

// A container whose processes the agent's check hangs at costs its own conversations, which
// give their places back once nobody waits for them.
func TestNodeCheckHangs(t *testing.T) {
	one, other := inPod(t), inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t, checkFor+"=1h", hangsIn+"="+one.ContainerID)
	var hung []*talk
	for range maxChildrenOfOne {
		hung = append(hung, n.asks(one))
	}
	await(t, "the container has its places", func() bool { return len(n.childrenOf()) == len(hung) })
	s := n.about(other)
	s.in.Close()
	s.over()
	for _, s := range hung {
		s.in.(closer).Stream.Close("")
	}
	await(t, "no check is left", func() bool { return len(n.childrenOf()) == 0 })
	n.stdin.Close()
	endsWell(t, n.ended)

	n = newNodeTalk(t, checkFor+"=50ms", hangsIn+"="+one.ContainerID)
	s = n.asks(one)
	if err := s.says(); err.Reason != reasonHelperFailed || !strings.Contains(err.Message, "took longer than 50ms") {
		t.Errorf("got %v", err)
	}
	s.over()
	n.stdin.Close()
	endsWell(t, n.ended)
}

// written returns how many bytes a process has written.
func written(pid int) int {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)) // of a process that has exited
	for line := range strings.Lines(string(content)) {
		if digits, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(digits)) // as the kernel writes it
			return n
		}
	}
	return 0
}

// A peer that keeps its stream and does not read keeps neither the child, nor its place.
func TestNodeUnread(t *testing.T) {
	one := inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t, unreadFor+"=300ms")
	s := n.about(one)
	pid := n.child()
	s.write(strings.Repeat(`{"id":1,"verb":"inspect","request":{}}`+"\n", 2000)) // an answer has more than 100 bytes
	await(t, "more is said than is read", func() bool { return written(pid) > mux.Window || syscall.Kill(pid, 0) != nil })
	await(t, "the child is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	<-s.in.(closer).Stream.Done()
	if _, err := io.Copy(io.Discard, s.out); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("got %v", err)
	}
	for range maxChildrenOfOne {
		n.about(one)
	}
	n.stdin.Close()
	endsWell(t, n.ended)
}

// Where half of the places are taken, each container gets one.
func TestNodeShares(t *testing.T) {
	n := &nodeSession{places: make(chan struct{}, maxChildren), running: map[helperapi.NodeTarget]int{}}
	of := func(i int) helperapi.NodeTarget {
		return helperapi.NodeTarget{PodUID: "pod", ContainerID: strconv.Itoa(i)}
	}
	taken := 0
	for i := range maxChildren {
		for range maxChildren {
			if err := n.enter(of(i)); err != nil {
				break
			}
			taken++
		}
	}
	if least := maxChildren/2/maxChildrenOfOne + maxChildren/2; len(n.running) < least || taken != maxChildren {
		t.Errorf("%d containers have %d places; want all, and at least %d containers", len(n.running), taken, least)
	}
	for i := range maxChildren {
		for range n.running[of(i)] {
			n.leave(of(i))
		}
	}
	if len(n.places) > 0 || len(n.running) > 0 {
		t.Errorf("left are %d places of %v", len(n.places), n.running)
	}
}

// A child that was asked nothing has nothing to finish: it does not keep its place for as long
// as one that may be in the middle of an operation.
func TestNodeUnaskedChildEnds(t *testing.T) {
	one := inPod(t)
	startAgent(t, agentFlags...)
	n := newNodeTalk(t, graceFor+"=1h")
	s := n.about(one)
	pid := n.child()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.in.(closer).Stream.Close("")
	await(t, "the child is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}

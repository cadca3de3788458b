//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

const (
	// maxChildren limits the children of a session, and so its memory and processes. An
	// operator has a few sessions for each node.
	maxChildren = 32
	// maxChildrenOfOne limits those for one container: one that hangs leaves the others to
	// other containers. Where half of the places are taken, each gets one, so that some
	// containers that hang do not keep others out.
	maxChildrenOfOne = 3
	// maxTarget is the maximum length of the line with a NodeTarget, in bytes.
	maxTarget = 1 << 10
)

// nodeSession is a session in the node agent: conversations about many containers, each
// with a child, so that whatever a container does to one, the others go on.
type nodeSession struct {
	// flags are those of the node agent.
	flags []string
	jars  []besideJar
	// places are those of the children.
	places chan struct{}

	mu sync.Mutex
	// running is the number of children for each container.
	running map[helperapi.NodeTarget]int
	// conversations is the number of those that have not ended. idle is called once there
	// has been none for idleLifetime.
	conversations int
	idle          *time.Timer
	// stopping means that the agent ends: there are no new conversations.
	stopping bool
}

// errStopping is the last answer to the conversations of an agent that ends.
var errStopping = helperapi.Errorf(reasonAgentLeaves, "The node agent is being stopped; waiting for the next one.")

// lastFrames is how often a session that ends looks whether everything is written.
const lastFrames = 20 * time.Millisecond

var errIdle = errors.New("nothing was asked")

// onNode runs a session in the node agent's container, and returns its exit code: 1 if it
// was broken off.
func onNode(stdin io.Reader, stdout, stderr io.Writer) int {
	flags := nodeArguments()
	if _, err := parseNode(flags); err != nil {
		sayf(stderr, "the flags of the node agent: %v", err)
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	n := &nodeSession{flags: flags, places: make(chan struct{}, maxChildren), running: map[helperapi.NodeTarget]int{}}
	for file, path := range helper.FindBeside(filepath.Join(filepath.Dir(self), "agent")) {
		n.jars = append(n.jars, besideJar{file, path})
	}
	return n.serve(stdin, stdout)
}

// serve serves conversations until the operator ends the session, or has none for
// idleLifetime. Children that are left finish their operation.
func (n *nodeSession) serve(stdin io.Reader, stdout io.Writer) int {
	var s *mux.Session
	ready := make(chan struct{})
	n.idle = time.AfterFunc(idleLifetime, func() { <-ready; n.endIdle(s) })
	s = mux.Server(stdin, stdout, maxChildren, n.converse)
	close(ready)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() { <-asked; n.stop() }()
	<-s.Done()
	deadline := time.After(childGrace + unreadLifetime)
	for range maxChildren {
		select {
		case n.places <- struct{}{}:
		case <-deadline:
			return 1
		}
	}
	if err := s.Err(); errors.Is(err, io.EOF) || errors.Is(err, errIdle) || errors.Is(err, errStopping) {
		return 0
	}
	return 1
}

// endIdle ends the session unless a conversation has begun meanwhile, which may not have been
// counted yet, or something of the last one is not written.
func (n *nodeSession) endIdle(s *mux.Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conversations > 0 {
		return
	}
	cause := errIdle
	if n.stopping {
		cause = errStopping
	}
	if !s.CloseIdle(cause) {
		n.rest()
	}
}

// rest has endIdle called later, unless a conversation begins. The caller holds the lock.
func (n *nodeSession) rest() {
	if n.stopping {
		n.idle.Reset(lastFrames)
	} else {
		n.idle.Reset(idleLifetime)
	}
}

// stop has the session take no new conversations, and end after those that there are. Their
// children end by themselves: they are asked to, too.
func (n *nodeSession) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopping = true; n.conversations == 0 {
		n.rest()
	}
}

// stops reports whether stop was called.
func (n *nodeSession) stops() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopping
}

// converse serves one conversation.
func (n *nodeSession) converse(stream *mux.Stream) {
	n.count(1)
	defer n.count(-1)
	defer stream.Close("")
	err := n.talk(stream)
	if n.stops() {
		err = errStopping
	}
	if err == nil {
		stream.CloseWrite()
		return
	}
	known, ok := errors.AsType[*helperapi.Error](err)
	if !ok {
		known = helperapi.Errorf(reasonHelperFailed, "The node agent failed: %v.", err)
	}
	line, err := json.Marshal(helperapi.Answer{Report: &helperapi.Report{HelperVersion: version, Error: known}})
	if err != nil {
		return
	}
	defer time.AfterFunc(unreadLifetime, func() { stream.Close("nobody reads the answer") }).Stop()
	// The child may have ended in the middle of a line.
	if _, err := stream.Write(append(append([]byte("\n"), line...), '\n')); err == nil {
		stream.CloseWrite()
	}
}

// count counts a conversation that begins, 1, or ends, -1.
func (n *nodeSession) count(change int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conversations += change; n.conversations > 0 {
		n.idle.Stop()
	} else {
		n.rest()
	}
}

// talk has a child conduct a conversation. It returns why that failed.
func (n *nodeSession) talk(stream *mux.Stream) error {
	in := bufio.NewReader(stream)
	target, err := readTarget(stream, in)
	if err != nil {
		return err
	}
	if err := n.enter(target); err != nil {
		return err
	}
	defer n.leave(target)
	c, err := startChild(task{target, n.flags, n.jars})
	if err != nil {
		return helperapi.Errorf(reasonHelperFailed, "The node agent cannot start a helper: %v. Its memory limit, or a limit on processes (podPidsLimit of the kubelet), may be reached.", err)
	}
	return c.converse(in, stream)
}

// readTarget reads the first line of a conversation.
func readTarget(stream *mux.Stream, in *bufio.Reader) (helperapi.NodeTarget, error) {
	var target helperapi.NodeTarget
	defer time.AfterFunc(unreadLifetime, func() { stream.Close("there is no target") }).Stop()
	line, err := helperapi.ReadLine(in, maxTarget)
	if err == nil {
		err = json.Unmarshal(line, &target)
	}
	if err != nil || target.PodUID == "" || target.ContainerID == "" {
		return target, helperapi.Errorf(helperapi.ReasonBadRequest, "The conversation does not begin with a container: %v.", err)
	}
	return target, nil
}

// enter takes a place for a child.
func (n *nodeSession) enter(target helperapi.NodeTarget) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	most := maxChildrenOfOne
	if len(n.places) >= maxChildren/2 {
		most = 1
	}
	switch has := n.running[target]; {
	case n.stopping:
		return errStopping
	case has >= most:
		return helperapi.Errorf(helperapi.ReasonBusy, "Helpers of the node agent work on the container already, or hang in it; it gets %d at most now.", most)
	}
	select {
	case n.places <- struct{}{}:
		n.running[target]++
		return nil
	default:
		return helperapi.Errorf(helperapi.ReasonBusy, "%d helpers of the node agent work already.", maxChildren)
	}
}

// leave gives the place back.
func (n *nodeSession) leave(target helperapi.NodeTarget) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running[target]--; n.running[target] == 0 {
		delete(n.running, target)
	}
	<-n.places
}

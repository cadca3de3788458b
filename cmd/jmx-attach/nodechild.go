//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

const (
	// serveTarget is the argument of VerbServe in a child of a session in the node agent.
	serveTarget = "--target"
	// taskVariable is the environment variable with the task of such a child. Whoever may
	// exec into the node agent chooses arguments, but not the environment, so that every
	// target is checked by the agent's own flags.
	taskVariable = "JMX_ATTACH_NODE_TASK"
	// maxChildError limits what is kept of a child's standard error, in bytes.
	maxChildError = 4 << 10
)

// childGrace is how long a child may take to end once its caller is gone: an operation has
// to finish. The child's own limits are shorter. A variable for tests.
var childGrace = stagingLifetime + unreadLifetime + 5*time.Second

// unaskedGrace is childGrace for a child that was sent no call: nothing has to finish, and one
// that hangs in what the container made of its processes must not keep its place for long.
const unaskedGrace = 2 * time.Second

// checkLifetime limits the check of a target. It is shorter than the time after which the
// operator does not wait for a hello any longer. A variable for tests.
var checkLifetime = 4 * time.Second

// check is helper.NodeAgent.Check. A variable for tests.
var check = helper.NodeAgent.Check

// task is what a child is for.
type task struct {
	Target helperapi.NodeTarget `json:"target"`
	// Flags are those of the node agent, by which the target is checked.
	Flags []string `json:"flags,omitempty"`
	// Jars are the jars of the image, which the session's process has hashed.
	Jars []besideJar `json:"jars,omitempty"`
}

// besideJar is one of the jars beside the helper.
type besideJar struct {
	helperapi.File
	Path string `json:"path"`
}

// onTarget runs a child of a session in the node agent: a session about one container, or its
// refusal. What the container does to the check, it does to its own child only.
func onTarget(stdin io.Reader, stdout, stderr io.Writer) int {
	var of task
	if err := json.Unmarshal([]byte(os.Getenv(taskVariable)), &of); err != nil || of.Target == (helperapi.NodeTarget{}) {
		fmt.Fprintf(stderr, "%s is for the node agent's own use\n", serveTarget)
		return 2
	}
	beside := helper.Beside{}
	for _, jar := range of.Jars {
		beside[jar.File] = jar.Path
	}
	s := newSession(stdin, stdout, beside, beside.Jars())
	s.helper.Target = &of.Target
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() { <-asked; s.leave() }()
	if refusal := s.check(of); refusal != nil {
		_ = s.report(0, helperapi.Report{Error: refusal}) // the process ends anyway
		return 0
	}
	return s.serve()
}

// check returns why the node agent does not serve the target of a task; nil if it does.
func (s *session) check(of task) *helperapi.Error {
	agent, err := parseNode(of.Flags)
	if err != nil {
		return helperapi.Errorf(reasonHelperFailed, "The flags of the node agent cannot be read: %v.", err)
	}
	watchdog := time.AfterFunc(checkLifetime, func() {
		_ = s.report(0, helperapi.Report{Error: helperapi.Errorf(reasonHelperFailed, "The node agent's look at the processes of the container took longer than %s: they hang, or the node is starved of CPU.", checkLifetime)}) // the process ends anyway
		os.Exit(0)
	})
	err = check(agent, of.Target)
	if !watchdog.Stop() {
		select {} // the watchdog is answering
	}
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*helperapi.Error](err); ok {
		return refusal
	}
	return helperapi.Errorf(reasonHelperFailed, "The node agent failed: %v.", err)
}

// child is a process that conducts a conversation.
type child struct {
	process *os.Process
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	stderr  io.ReadCloser
}

// childProgram is this program: the one of the image, whatever the paths are.
const childProgram = "/proc/self/exe"

// startChild starts a child.
func startChild(of task) (*child, error) {
	variable, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	var pipes [3][2]*os.File // of its standard streams: reader and writer
	closeAll := func(side ...int) {
		for _, pipe := range pipes {
			for _, i := range side {
				if pipe[i] != nil {
					pipe[i].Close()
				}
			}
		}
	}
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(0, 1)
			return nil, err
		}
	}
	process, err := os.StartProcess(childProgram, []string{"jmx-attach", string(helperapi.VerbServe), serveTarget}, &os.ProcAttr{
		Env:   append(os.Environ(), taskVariable+"="+string(variable)),
		Files: []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]},
		// Signals to the session's group, such as at the end of its exec, are not for it: an
		// operation has to finish.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	pipes[0][0].Close()
	pipes[1][1].Close()
	pipes[2][1].Close()
	if err != nil {
		pipes[0][1].Close()
		pipes[1][0].Close()
		pipes[2][0].Close()
		return nil, err
	}
	return &child{process, pipes[0][1], pipes[1][0], pipes[2][0]}, nil
}

// converse passes what arrives to the child and what it says to the peer, until the child
// has ended; nil if it succeeded. It kills the child if it is still there childGrace after
// the peer has ended its side, which the child sees as the end of its input. A peer that does
// not read what the child has said loses the stream.
func (c *child) converse(in io.Reader, stream *mux.Stream) error {
	ended := make(chan struct{})
	calls := &noted{Writer: c.stdin}
	late := sync.OnceFunc(func() {
		grace := childGrace
		if !calls.any.Load() {
			grace = min(grace, unaskedGrace)
		}
		timer := time.AfterFunc(grace, func() { _ = c.process.Kill() }) // it may have exited
		go func() { <-ended; timer.Stop() }()
	})
	go func() {
		_, _ = io.Copy(calls, in) // the child sees the end of its input in any case
		c.stdin.Close()
		late()
	}()
	go func() {
		select {
		case <-stream.Done():
			late()
		case <-ended:
		}
	}()
	var said beginning
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&said, c.stderr); c.stderr.Close() })  // for a message only
	reading.Go(func() { _, _ = io.Copy(stream, c.stdout); c.stdout.Close() }) // the child sees that nobody reads
	state, err := c.process.Wait()                                            // also while nobody reads
	close(ended)
	unread := time.AfterFunc(unreadLifetime, func() {
		stream.Close("nobody reads the answers")
		c.stdout.Close()
		c.stderr.Close()
	})
	reading.Wait()
	unread.Stop()
	if err != nil {
		return err
	}
	return childError(state, said.String())
}

// noted notes whether anything was written.
type noted struct {
	io.Writer
	any atomic.Bool
}

// Write implements io.Writer.
func (n *noted) Write(p []byte) (int, error) {
	n.any.Store(true)
	return n.Writer.Write(p)
}

// childError describes how a child ended.
func childError(state *os.ProcessState, stderr string) error {
	if state.Success() {
		return nil
	}
	if stderr != "" {
		stderr = ": " + stderr
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return helperapi.Errorf(reasonHelperKilled, "The node agent's helper for this container was ended by signal %d%s. SIGKILL (9) is the kernel's if the node agent or its node ran out of memory, or the agent's if the helper hung in the container's files or processes.", status.Signal(), stderr)
	}
	return helperapi.Errorf(reasonHelperFailed, "The node agent's helper for this container failed%s.", stderr)
}

// The operator's reasons for the failure of a helper or node agent: see apis/v1alpha1.
const (
	reasonHelperFailed helperapi.Reason = "HelperFailed"
	reasonHelperKilled helperapi.Reason = "HelperKilled"
	// reasonAgentLeaves is that of an agent that is about to be replaced.
	reasonAgentLeaves helperapi.Reason = "NodeAgentPending"
)

// beginning keeps the beginning of what is written to it.
type beginning struct{ kept bytes.Buffer }

// Write implements io.Writer.
func (t *beginning) Write(p []byte) (int, error) {
	t.kept.Write(p[:min(len(p), maxChildError-t.kept.Len())])
	return len(p), nil
}

// String returns one line.
func (t *beginning) String() string {
	const longest = 300
	line := terminal.Line(strings.Join(strings.Fields(t.kept.String()), " "))
	return strings.ToValidUTF8(line[:min(len(line), longest)], "")
}

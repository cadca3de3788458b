//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

const (
	// serveTarget is the argument of VerbServe in a child of a session in the node agent.
	serveTarget = "--target"
	// taskVariable is the environment variable with the task of such a child. Whoever may
	// exec into the node agent chooses arguments, but not the environment, so that every
	// target has passed the agent's checks.
	taskVariable = "JMX_ATTACH_NODE_TASK"
	// maxChildError limits what is kept of a child's standard error, in bytes.
	maxChildError = 4 << 10
)

// childGrace is how long a child may take to end once its caller is gone: an operation has
// to finish. The child's own limits are shorter. A variable for tests.
var childGrace = stagingLifetime + unreadLifetime + 5*time.Second

// task is what a child is for.
type task struct {
	Target helperapi.NodeTarget `json:"target"`
	// Jars are the jars of the image, which the session's process has hashed.
	Jars []besideJar `json:"jars,omitempty"`
}

// besideJar is one of the jars beside the helper.
type besideJar struct {
	helperapi.File
	Path string `json:"path"`
}

// onTarget runs a child of a session in the node agent: a session about one container.
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
	return s.serve()
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
// the peer has ended its side, which the child sees as the end of its input.
func (c *child) converse(peer io.Reader, to io.Writer, gone <-chan struct{}) error {
	ended := make(chan struct{})
	var kill sync.Once
	late := func() {
		kill.Do(func() {
			timer := time.AfterFunc(childGrace, func() { _ = c.process.Kill() }) // it may have exited
			go func() { <-ended; timer.Stop() }()
		})
	}
	go func() {
		_, _ = io.Copy(c.stdin, peer) // the child sees the end of its input in any case
		c.stdin.Close()
		late()
	}()
	go func() {
		select {
		case <-gone:
			late()
		case <-ended:
		}
	}()
	var said beginning
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&said, c.stderr); c.stderr.Close() }) // for a message only
	reading.Go(func() { _, _ = io.Copy(to, c.stdout); c.stdout.Close() })    // the child sees that nobody reads
	reading.Wait()
	state, err := c.process.Wait()
	close(ended)
	if err != nil {
		return err
	}
	return childError(state, said.String())
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

// The operator's reasons for the failure of a helper: see apis/v1alpha1.
const (
	reasonHelperFailed helperapi.Reason = "HelperFailed"
	reasonHelperKilled helperapi.Reason = "HelperKilled"
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

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"time"
)

// A node is one of the cluster's, which kind has in a container, with this program
// running in it.
type node struct {
	name, file string
	command    *exec.Cmd
	input      io.Closer
	client     *rpc.Client
}

// enter starts this program in a node.
func enter(ctx context.Context, name string) (*node, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &node{name: name, file: fmt.Sprintf("/kind/bench-%d", os.Getpid())}
	if out, err := exec.CommandContext(ctx, "docker", "cp", self, name+":"+n.file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("docker cp to %s: %w: %s", name, err, out)
	}
	// It ends with its input, not with ctx: it is needed to clean up, too.
	n.command = exec.Command("docker", "exec", "-i", name, n.file, "-"+insideFlag)
	n.command.Stderr = os.Stderr
	in, err := n.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := n.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	n.input = in
	n.client = rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	return n, nil
}

// leave ends the program in the node, and removes it.
func (n *node) leave() error {
	_ = n.client.Close() // and so its input
	ended := make(chan struct{})
	go func() {
		_ = n.command.Wait() // what it said at its end does not matter any more
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = n.command.Process.Kill()
	}
	out, err := exec.Command("docker", "exec", n.name, "rm", "-f", n.file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("rm in %s: %w: %s", n.name, err, out)
	}
	return nil
}

// call calls a method of Inside.
func call[Q, A any](ctx context.Context, n *node, method string, question Q) (answer A, err error) {
	done := n.client.Go("Inside."+method, question, &answer, make(chan *rpc.Call, 1)).Done
	select {
	case c := <-done:
		if c.Error != nil {
			return answer, fmt.Errorf("%s in node %s: %w", method, n.name, c.Error)
		}
		return answer, nil
	case <-ctx.Done():
		return *new(A), errors.Join(ctx.Err(), fmt.Errorf("%s in node %s", method, n.name))
	}
}

//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"

	utilexec "k8s.io/client-go/util/exec"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// fleet are the streams of execs into containers, by pod name.
type fleet map[string]*container

// Stream implements transport.Streams.
func (f fleet) Stream(ctx context.Context, in transport.Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return f[in.Pod].stream(ctx, command, stdin, stdout, stderr)
}

// stream executes a command as a kubelet does: the end of the stream closes the
// command's pipes, and does not end the command.
func (c *container) stream(ctx context.Context, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return stream(ctx, c.execs(command), &c.taken, stdin, stdout, stderr)
}

// execs returns the command that a kubelet executes in the container, or in the door.
func (c *container) execs(command []string) *exec.Cmd {
	enter := []string{"nsenter", "--target", strconv.Itoa(c.init), "--pid", "--mount"}
	if command[0] == helperapi.DoorProgram {
		command = slices.Clone(command)
		command[0] = "/mnt/jmx-attach"
		if c.program != "" {
			command[0] = c.program
		} else {
			enter[4] = fmt.Sprintf("--mount=/proc/%d/ns/mnt", c.door)
		}
	}
	enter = append(enter, setUser(c.user)...)
	if len(c.limits) > 0 {
		enter = slices.Concat([]string{"prlimit"}, c.limits, enter)
	}
	enter = append(append(enter, "--"), command...)
	cmd := exec.Command(enter[0], enter[1:]...)
	cmd.Env = []string{"PATH=" + c.path}
	return cmd
}

// stream executes a command, and counts what is taken from it.
func stream(ctx context.Context, cmd *exec.Cmd, taken *atomic.Int64, stdin io.Reader, stdout, stderr io.Writer) error {
	toStdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	var ours []io.Closer
	output := func(to io.Writer) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ours = append(ours, r)
		go func() { _, _ = io.Copy(counting{to, taken}, r) }() // the operator's side ends it
		return w, nil
	}
	out, err := output(stdout)
	if err != nil {
		return err
	}
	errs, err := output(stderr)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, errs
	err = cmd.Start()
	out.Close()
	errs.Close()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(toStdin, stdin) // the command may exit without reading it
		toStdin.Close()
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		for _, pipe := range ours {
			pipe.Close()
		}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err = <-ended:
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return utilexec.CodeExitError{Err: err, Code: exitCode(exit)}
	}
	return err
}

// exitCode returns what a runtime reports: 128 plus the signal for a process that a signal ended.
func exitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// counting counts the bytes that a writer writes.
type counting struct {
	to    io.Writer
	taken *atomic.Int64
}

func (w counting) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.taken.Add(int64(n))
	return n, err
}

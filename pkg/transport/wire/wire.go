// Package wire exchanges lines with a command that runs in a container. All output of the
// command is bounded, and so is the time that ending it takes.
package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

const (
	// EndLine is the line by which a command announces that it exits at the end of its
	// standard input.
	EndLine = "jmx-attach end"
	// CloseTimeout is how long a command may take to exit after the end of its input.
	CloseTimeout = 2 * time.Second
	// maxBanner limits what a shell may print before a session begins, in bytes.
	maxBanner = 256 << 10
	// maxStderr limits standard error, in bytes.
	maxStderr = 256 << 10
)

var (
	// ErrEnded means that the command exited with code 0.
	ErrEnded = errors.New("the command ended")
	// ErrClosed is the cause with which a session is closed.
	ErrClosed = errors.New("the session was closed")
)

// ExecError is the failure of an exec, with what the command printed on standard error.
type ExecError struct {
	Err error
	// Stderr is one line of bounded length.
	Stderr string
}

// Error returns the failure and the standard error.
func (e *ExecError) Error() string {
	if e.Stderr == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: %s", e.Err, e.Stderr)
}

// Unwrap returns the failure.
func (e *ExecError) Unwrap() error { return e.Err }

// Wire is a command that runs in a container. What ends the command is the error of all
// later reads and writes. A Wire is not safe for concurrent use, except for Cancel.
type Wire struct {
	in    *io.PipeWriter
	out   *bufio.Reader
	quota *quota
	// cancel ends the command; only the first cause counts.
	cancel context.CancelCauseFunc
	// sent is closed when everything sent so far is written.
	sent chan struct{}
	// over is closed when the command has ended and released its place.
	over chan struct{}
}

// Run executes a command and connects its standard streams, until the command exits or
// ctx is done.
type Run func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error

// Dial starts a command, which is canceled when its caller's context is done. release is
// called at the end, with whether the command had begun, and whether it has ended. If the
// command was waiting for the next call, because the session was closed or the caller's
// context is done, that is unknown, and the command counts as one that had not begun.
func Dial(caller context.Context, run Run, release func(begun, ended bool)) *Wire {
	ctx, cancel := context.WithCancelCause(caller)
	stdin, toStdin := io.Pipe()
	fromStdout, stdout := io.Pipe()
	quota := &quota{from: fromStdout, left: maxBanner}
	w := &Wire{in: toStdin, out: bufio.NewReader(quota), quota: quota, cancel: cancel, sent: make(chan struct{}), over: make(chan struct{})}
	close(w.sent)
	context.AfterFunc(ctx, func() {
		stdin.CloseWithError(context.Cause(ctx))
		stdout.CloseWithError(context.Cause(ctx))
		_, ended := errors.AsType[*ExecError](context.Cause(ctx))
		waited := caller.Err() != nil || errors.Is(context.Cause(ctx), ErrClosed)
		release(quota.begun.Load() && !waited, ended)
		close(w.over)
	})
	go func() {
		stderr := &boundedBuffer{limit: maxStderr, cancel: cancel}
		err := run(ctx, stdin, stdout, stderr)
		if err == nil {
			err = ErrEnded
		}
		cancel(&ExecError{Err: err, Stderr: text.Line(stderr.String(), 200)})
	}()
	return w
}

// Cancel ends the command with a cause, unless it has ended already. Cancel is safe for
// concurrent use.
func (w *Wire) Cancel(cause error) { w.cancel(cause) }

// Expect sets the limit of the output that is read from now on, in bytes.
func (w *Wire) Expect(limit int) { w.quota.left = limit }

// Send writes parts after what was sent before, without waiting: the command may exit
// before it reads them, and print the reason.
func (w *Wire) Send(parts ...[]byte) {
	before, sent := w.sent, make(chan struct{})
	w.sent = sent
	go func() {
		defer close(sent)
		<-before
		for _, part := range parts {
			if _, err := w.in.Write(part); err != nil {
				return // the next read returns the same error
			}
		}
	}()
}

// Line returns the next line that is not empty. After EndLine, it waits for the command to
// exit, and returns the outcome as the error.
func (w *Wire) Line() (string, error) {
	for {
		line, err := helperapi.ReadLine(w.out, helperapi.MaxAnswer)
		switch {
		case err != nil:
			w.cancel(err) // the line may be too long
			return "", err
		case string(line) == EndLine:
			w.in.Close()
			_, err := io.Copy(io.Discard, w.out)
			w.cancel(err)
			return "", err
		case len(line) > 0:
			return string(line), nil
		}
	}
}

// Close ends the command's input and, if the command has not exited after CloseTimeout,
// cancels the command with the cause.
func (w *Wire) Close(cause error) {
	w.in.Close()
	defer time.AfterFunc(CloseTimeout, func() { w.cancel(cause) }).Stop()
	_, _ = io.Copy(io.Discard, w.out) // earlier reads returned the outcome, or it does not matter
	<-w.over
}

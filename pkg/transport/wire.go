package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

const (
	// maxBanner bounds what a shell may print before a session begins, in bytes.
	maxBanner = 256 << 10
	// maxStderr bounds standard error, in bytes.
	maxStderr = 256 << 10
	// closeTimeout is how long a command may take to end once its input has.
	closeTimeout = 2 * time.Second
)

var (
	errEnded  = errors.New("the command ended")
	errClosed = errors.New("the session was closed")
)

// wire is a command that runs in a container, and with which lines are exchanged.
// Whatever ends it is the error of all that is read and written from then on.
type wire struct {
	in  *io.PipeWriter
	out *bufio.Reader
	// quota bounds what is read of it next.
	quota *quota
	// cancel ends it; the first cause is the one that counts.
	cancel context.CancelCauseFunc
	// sent is closed when all is written that was sent so far.
	sent chan struct{}
	// over is closed when it has ended, and released its place.
	over chan struct{}
}

// dial starts a command. The end of its context ends it; release is called then, with
// whether the command had begun, and whether it has ended. Where it was waiting for the
// next call, that is not known, and it counts as one that did not begin: when its session
// was closed, or the caller's context ended.
func dial(caller context.Context, streams Streams, in Container, command []string, release func(begun, ended bool)) *wire {
	ctx, cancel := context.WithCancelCause(caller)
	stdin, toStdin := io.Pipe()
	fromStdout, stdout := io.Pipe()
	quota := &quota{from: fromStdout, left: maxBanner}
	w := &wire{in: toStdin, out: bufio.NewReader(quota), quota: quota, cancel: cancel, sent: make(chan struct{}), over: make(chan struct{})}
	close(w.sent)
	context.AfterFunc(ctx, func() {
		stdin.CloseWithError(context.Cause(ctx))
		stdout.CloseWithError(context.Cause(ctx))
		_, ended := errors.AsType[*execError](context.Cause(ctx))
		waited := caller.Err() != nil || errors.Is(context.Cause(ctx), errClosed)
		release(quota.begun.Load() && !waited, ended)
		close(w.over)
	})
	go func() {
		stderr := &boundedBuffer{limit: maxStderr, cancel: cancel}
		err := streams.Stream(ctx, in, command, stdin, stdout, stderr)
		if err == nil {
			err = errEnded
		}
		cancel(&execError{err: err, stderr: cutStderr(stderr.String())})
	}()
	return w
}

// cutStderr is what an error has of a command's standard error.
func cutStderr(said string) string { return text.Line(said, 200) }

// send writes after what was sent before, and does not wait: the command may end
// without reading it, and says why in a line. It is not safe for concurrent use.
func (w *wire) send(parts ...[]byte) {
	before, sent := w.sent, make(chan struct{})
	w.sent = sent
	go func() {
		defer close(sent)
		<-before
		for _, part := range parts {
			if _, err := w.in.Write(part); err != nil {
				return // who reads an answer gets the same error
			}
		}
	}()
}

// line reads one that is not empty. When the command announces that it ends, it is let
// to, and the error is how it did.
func (w *wire) line() (string, error) {
	for {
		line, err := helperapi.ReadLine(w.out, helperapi.MaxAnswer)
		switch {
		case err != nil:
			w.cancel(err) // the line may be too long
			return "", err
		case string(line) == saysEnd:
			w.in.Close()
			_, err := io.Copy(io.Discard, w.out)
			w.cancel(err)
			return "", err
		case len(line) > 0:
			return string(line), nil
		}
	}
}

// close ends the command's input, and the command, for that cause, if it then goes on.
func (w *wire) close(cause error) {
	w.in.Close()
	defer time.AfterFunc(closeTimeout, func() { w.cancel(cause) }).Stop()
	_, _ = io.Copy(io.Discard, w.out) // how it ended was told by what was read before, or does not matter
	<-w.over
}

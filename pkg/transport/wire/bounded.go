package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// ErrOutputTooLarge means that a command printed more than is read.
var ErrOutputTooLarge = errors.New("the output is larger than its bound")

// boundedBuffer keeps what is written to it up to a limit, in bytes. Beyond that, it
// cancels the stream, since client-go keeps reading after a write error. It has a lock
// because client-go keeps writing for a while after a stream was canceled.
type boundedBuffer struct {
	limit  int
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buffer.Len()+len(p) > b.limit {
		b.cancel(ErrOutputTooLarge)
		return 0, ErrOutputTooLarge
	}
	return b.buffer.Write(p)
}

// String returns what was written so far.
func (b *boundedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// quota reads up to a number of bytes, and then fails with ErrOutputTooLarge. Otherwise,
// a command could keep the operator busy until its deadline, for instance by printing
// empty lines.
type quota struct {
	from io.Reader
	left int
	// begun is true once anything was read.
	begun atomic.Bool
}

// Read implements io.Reader.
func (q *quota) Read(p []byte) (int, error) {
	if q.left <= 0 {
		return 0, ErrOutputTooLarge
	}
	n, err := q.from.Read(p[:min(len(p), q.left)])
	q.left -= n
	if n > 0 {
		q.begun.Store(true)
	}
	return n, err
}

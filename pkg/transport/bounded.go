package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

var errOutputTooLarge = errors.New("the output is larger than its bound")

// boundedBuffer keeps what is written to it up to a limit, and cancels the
// stream beyond it: client-go goes on reading after a writer's error. It also
// goes on writing for a while after a stream was canceled, hence the lock.
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
		b.cancel(errOutputTooLarge)
		return 0, errOutputTooLarge
	}
	return b.buffer.Write(p)
}

// String is what was written so far.
func (b *boundedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// quota reads as many bytes as are left, and fails then. A command could keep the
// operator busy otherwise, with empty lines for instance, until its deadline.
type quota struct {
	from io.Reader
	left int
	// begun reports that anything was read.
	begun atomic.Bool
}

// Read implements io.Reader.
func (q *quota) Read(p []byte) (int, error) {
	if q.left <= 0 {
		return 0, errOutputTooLarge
	}
	n, err := q.from.Read(p[:min(len(p), q.left)])
	q.left -= n
	if n > 0 {
		q.begun.Store(true)
	}
	return n, err
}

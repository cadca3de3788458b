package transport

import (
	"bytes"
	"context"
	"errors"
	"sync"
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

package transport

import (
	"bytes"
	"context"
	"errors"
)

var errOutputTooLarge = errors.New("the output is larger than its bound")

// boundedBuffer keeps what is written to it up to a limit, and cancels the
// stream beyond it: client-go goes on reading after a writer's error.
type boundedBuffer struct {
	bytes.Buffer
	limit  int
	cancel context.CancelCauseFunc
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		b.cancel(errOutputTooLarge)
		return 0, errOutputTooLarge
	}
	return b.Buffer.Write(p)
}

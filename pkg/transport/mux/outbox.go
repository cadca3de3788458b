package mux

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// writeTimeout is how long a frame may take to be written. Beyond it, the session is lost:
// nothing else of it can be written either.
const writeTimeout = 30 * time.Second

// outbox has the streams take turns in writing frames. Its lock is the one of the whole
// session.
type outbox struct {
	sync.Mutex
	// filled is signaled when there is something to write, and when the session is lost.
	filled *sync.Cond
	queue  []sender
	// writing means that a frame is being written, which is in no queue any more.
	writing bool
	// err is why the session is lost; nil while it is not.
	err error
}

// sender has frames to write. It is called with the lock.
type sender interface {
	// emit appends one frame, or none, and reports whether there is more to write.
	emit(to []byte) (frame []byte, more bool)
}

func newOutbox() *outbox {
	o := &outbox{}
	o.filled = sync.NewCond(&o.Mutex)
	return o
}

// add appends a sender, which is not in the queue. The caller holds the lock.
func (o *outbox) add(s sender) {
	o.queue = append(o.queue, s)
	o.filled.Signal()
}

// next waits for the next frame, and returns it; nil once the session is lost.
func (o *outbox) next(buffer []byte) []byte {
	o.Lock()
	defer o.Unlock()
	o.writing = false
	for o.err == nil {
		if len(o.queue) == 0 {
			o.filled.Wait()
			continue
		}
		s := o.queue[0]
		o.queue[0] = nil
		o.queue = o.queue[1:]
		frame, more := s.emit(buffer[:0])
		if more {
			o.queue = append(o.queue, s)
		}
		if len(frame) > 0 {
			o.writing = true
			return frame
		}
	}
	return nil
}

// write writes frames until the session is lost, for which it calls fail.
func (o *outbox) write(to io.Writer, fail func(error)) {
	buffer := make([]byte, 0, headerSize+MaxPayload)
	for {
		frame := o.next(buffer)
		if frame == nil {
			return
		}
		late := time.AfterFunc(writeTimeout, func() { fail(ErrWriteTimeout) })
		_, err := to.Write(frame)
		late.Stop()
		if err != nil {
			fail(err)
			return
		}
	}
}

// ErrWriteTimeout is the cause with which a session ends whose peer takes nothing any more.
var ErrWriteTimeout = fmt.Errorf("the peer took nothing for %s", writeTimeout)

package mux

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// Session is one end of a multiplexed connection. It is safe for concurrent use.
type Session struct {
	out     *outbox
	streams map[uint32]*Stream
	// last is the ID of the stream that was opened last.
	last uint32
	// handle serves a stream that the peer opened; nil in a client.
	handle func(*Stream)
	// handling counts the calls of handle that have not returned.
	handling sync.WaitGroup
	limit    int
	frames   atomic.Uint64
	// begun is closed at the first frame, done at the end.
	begun, done chan struct{}
}

// ErrSession is the cause with which a session ends that its owner closes without one.
var ErrSession = errors.New("the session is closed")

// Client returns the end of a connection that opens streams. It reads from r and writes to
// w until Close is called or either fails; its owner then closes both, which ends the
// goroutines behind it.
func Client(r io.Reader, w io.Writer) *Session { return start(r, w, 0, nil) }

// Server returns the end of a connection whose peer opens streams, at most limit at a time:
// further ones are reset. Each is handled by a goroutine of its own, which closes the
// stream.
func Server(r io.Reader, w io.Writer, limit int, handle func(*Stream)) *Session {
	return start(r, w, limit, handle)
}

func start(r io.Reader, w io.Writer, limit int, handle func(*Stream)) *Session {
	s := &Session{out: newOutbox(), streams: map[uint32]*Stream{}, handle: handle, limit: limit, begun: make(chan struct{}), done: make(chan struct{})}
	go s.out.write(w, s.Close)
	go func() { s.Close(s.read(&reader{from: r})) }()
	return s
}

// Open opens a stream. It does not wait, and fails with the session's error once that is
// lost.
func (s *Session) Open() (*Stream, error) {
	s.out.Lock()
	defer s.out.Unlock()
	if s.out.err != nil {
		return nil, s.out.err
	}
	s.last++
	stream := s.add(s.last)
	stream.opening = true
	stream.send()
	return stream, nil
}

// add adds a stream. The caller holds the lock.
func (s *Session) add(id uint32) *Stream {
	stream := newStream(s.out, id, func() { delete(s.streams, id) })
	s.streams[id] = stream
	return stream
}

// Close ends the session and all of its streams with a cause, ErrSession if it is nil. What
// is not written yet is lost. Only the first call has an effect.
func (s *Session) Close(cause error) {
	s.out.Lock()
	defer s.out.Unlock()
	s.close(cause)
}

// CloseIdle ends the session with a cause if it has no streams, and everything that they sent
// is written. It reports whether the session has ended.
func (s *Session) CloseIdle(cause error) bool {
	s.out.Lock()
	defer s.out.Unlock()
	if s.out.err == nil && (len(s.streams) > 0 || len(s.out.queue) > 0 || s.out.writing) {
		return false
	}
	s.close(cause)
	return true
}

// close is Close. The caller holds the lock.
func (s *Session) close(cause error) {
	if s.out.err != nil {
		return
	}
	if cause == nil {
		cause = ErrSession
	}
	s.out.err = cause
	s.out.queue = nil
	for _, stream := range s.streams {
		stream.lose(cause)
	}
	s.out.filled.Broadcast()
	close(s.done)
}

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Wait returns when the session has ended, and all streams of a Server are handled.
func (s *Session) Wait() {
	<-s.done
	s.handling.Wait()
}

// Err returns why the session has ended; nil if it has not.
func (s *Session) Err() error {
	s.out.Lock()
	defer s.out.Unlock()
	return s.out.err
}

// Streams returns the number of streams that are not over.
func (s *Session) Streams() int {
	s.out.Lock()
	defer s.out.Unlock()
	return len(s.streams)
}

// Begun returns a channel that is closed once the peer has sent anything.
func (s *Session) Begun() <-chan struct{} { return s.begun }

// Received returns the number of frames that were received so far.
func (s *Session) Received() uint64 { return s.frames.Load() }

// read receives frames, and returns why there are no more.
func (s *Session) read(from *reader) error {
	for {
		f, err := from.next()
		if err == nil {
			if s.frames.Add(1) == 1 {
				close(s.begun)
			}
			err = s.receive(f)
		}
		if err != nil {
			return err
		}
	}
}

// receive passes a frame to its stream. A stream that is unknown is one that this side has
// closed, while the peer was sending to it.
func (s *Session) receive(f frame) error {
	s.out.Lock()
	defer s.out.Unlock()
	if s.out.err != nil { // nothing would end a stream that begins now
		return s.out.err
	}
	if stream := s.streams[f.id]; stream != nil {
		stream.receive(f)
		return nil
	}
	switch {
	case f.kind == kindOpen && s.handle != nil && f.id > s.last:
		return s.accept(f.id)
	case f.kind == kindOpen, f.id > s.last:
		return protocolErrorf("stream %d cannot be used", f.id)
	}
	return nil
}

// accept begins a stream that the peer opened. The caller holds the lock.
func (s *Session) accept(id uint32) error {
	s.last = id
	if len(s.streams) >= s.limit {
		if len(s.out.queue) > 2*s.limit {
			return protocolErrorf("the peer opens streams and does not read")
		}
		refused := newStream(s.out, id, func() {})
		refused.closed = true
		refused.resetWith("there are too many streams")
		refused.finish()
		return nil
	}
	stream := s.add(id)
	stream.acknowledging = true
	stream.send()
	s.handling.Go(func() { s.handle(stream) })
	return nil
}

package mux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// Stream is one of the streams of a session. It has one reader and one writer at a time;
// CloseWrite and Close are safe for concurrent use with them.
type Stream struct {
	out *outbox
	id  uint32
	// forget is called once nothing more is to be received, with the lock.
	forget func()
	// changed is signaled at each change.
	changed *sync.Cond
	done    chan struct{}

	in bytes.Buffer
	// allowed is how much more the peer may send, and taken what was read and not credited.
	allowed, taken int
	// ended means that the peer has sent everything.
	ended bool

	// window is how much more may be sent, and data what a Write has left to send.
	window int
	data   []byte

	// What is to be sent, in this order: opening, acknowledging, data, ending, resetting.
	opening, acknowledging, ending, resetting bool
	queued, endSent                           bool

	// answered means that the peer has sent anything.
	answered bool

	// closed means that Close was called. err is why the stream is lost.
	closed bool
	err    error
	over   bool
	reason string
}

// ResetError means that the peer ended a stream.
type ResetError struct {
	// Reason is the peer's own word, at most 200 bytes.
	Reason string
}

// Error returns the reason.
func (e *ResetError) Error() string {
	if e.Reason == "" {
		return "the stream was reset"
	}
	return "the stream was reset: " + e.Reason
}

// ErrClosed is the error of a stream that this side closed.
var ErrClosed = errors.New("the stream is closed")

func newStream(out *outbox, id uint32, forget func()) *Stream {
	s := &Stream{out: out, id: id, forget: forget, done: make(chan struct{}), allowed: Window, window: Window}
	s.changed = sync.NewCond(&out.Mutex)
	return s
}

// Done returns a channel that is closed once the stream is over: both sides have ended it,
// one has reset it, or the session is lost. What was received before can still be read.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Read implements io.Reader. It returns io.EOF after everything that the peer sent before
// its CloseWrite, a *ResetError if the peer closed the stream before that, and the
// session's error if that is lost.
func (s *Stream) Read(p []byte) (int, error) {
	s.out.Lock()
	defer s.out.Unlock()
	for {
		switch {
		case s.closed:
			return 0, ErrClosed
		case s.in.Len() > 0:
			n, _ := s.in.Read(p) // never fails with a content
			if s.taken += n; s.taken >= Window/2 && !s.ended {
				s.send()
			}
			return n, nil
		case s.ended:
			return 0, io.EOF
		case s.err != nil:
			return 0, s.err
		}
		s.changed.Wait()
	}
}

// Write implements io.Writer. It waits until the peer has room for all of p.
func (s *Stream) Write(p []byte) (int, error) {
	s.out.Lock()
	defer s.out.Unlock()
	s.data = p
	for len(s.data) > 0 && s.writable() == nil {
		if s.window > 0 {
			s.send()
		}
		s.changed.Wait()
	}
	left := len(s.data)
	s.data = nil
	if left > 0 {
		return len(p) - left, s.writable()
	}
	return len(p), nil
}

// writable returns why nothing can be written, or nil. The caller holds the lock.
func (s *Stream) writable() error {
	switch {
	case s.closed || s.ending || s.endSent:
		return ErrClosed
	default:
		return s.err
	}
}

// CloseWrite tells the peer that this side has written everything. It does not wait.
func (s *Stream) CloseWrite() {
	s.out.Lock()
	defer s.out.Unlock()
	if s.writable() == nil {
		s.ending = true
		s.changed.Broadcast()
		s.send()
	}
}

// Close ends the stream, and discards what was not read. If the peer has not ended it, too,
// it gets the reason, cut to 200 bytes. Close does not wait, and further calls have no
// effect.
func (s *Stream) Close(reason string) {
	s.out.Lock()
	defer s.out.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.in = bytes.Buffer{}
	s.resetWith(reason)
	s.finish()
}

// resetWith sends a reset unless the stream is over. The caller holds the lock.
func (s *Stream) resetWith(reason string) {
	if s.over {
		return
	}
	s.reason, s.resetting = reason[:min(len(reason), maxReason)], true
	s.send()
}

// lose ends the stream with an error. The caller holds the lock.
func (s *Stream) lose(err error) {
	if s.err == nil {
		s.err = err
	}
	s.finish()
}

// finish marks the stream as over. The caller holds the lock.
func (s *Stream) finish() {
	s.changed.Broadcast()
	if !s.over {
		s.over = true
		close(s.done)
		s.forget()
	}
}

// send has the outbox call emit. The caller holds the lock.
func (s *Stream) send() {
	if !s.queued && s.out.err == nil {
		s.queued = true
		s.out.add(s)
	}
}

// emit implements sender.
func (s *Stream) emit(to []byte) ([]byte, bool) {
	switch {
	case s.opening:
		s.opening = false
		to = appendFrame(to, s.id, kindOpen, nil)
	case s.acknowledging, s.taken >= Window/2 && !s.ended && !s.over:
		s.acknowledging = false
		to = appendCredit(to, s.id, s.taken)
		s.allowed += s.taken
		s.taken = 0
	case len(s.data) > 0 && s.window > 0 && !s.closed && s.err == nil:
		n := min(len(s.data), s.window, MaxPayload)
		to = appendFrame(to, s.id, kindData, s.data[:n])
		s.data, s.window = s.data[n:], s.window-n
		s.changed.Broadcast()
	case s.ending && len(s.data) == 0 && s.err == nil:
		s.ending, s.endSent = false, true
		to = appendFrame(to, s.id, kindEnd, nil)
		if s.ended {
			s.resetting = false // both sides have ended it
			s.finish()
		}
	case s.resetting:
		s.resetting = false
		to = appendFrame(to, s.id, kindReset, []byte(s.reason))
	}
	s.queued = s.opening || s.acknowledging || s.resetting || len(s.data) > 0 && s.window > 0 && !s.closed && s.err == nil ||
		s.ending && len(s.data) == 0 && s.err == nil || s.taken >= Window/2 && !s.ended && !s.over
	return to, s.queued
}

// Answered reports whether the peer has sent anything in the stream. A server does so at once,
// whatever it does with the stream.
func (s *Stream) Answered() bool {
	s.out.Lock()
	defer s.out.Unlock()
	return s.answered
}

// receive takes a frame of the stream. The caller holds the lock.
func (s *Stream) receive(f frame) {
	s.answered = true
	switch f.kind {
	case kindData:
		if s.ended || len(f.payload) > s.allowed {
			s.violated("more data than allowed")
			return
		}
		s.allowed -= len(f.payload)
		s.in.Write(f.payload)
	case kindEnd:
		if s.ended = true; s.endSent {
			s.finish()
		}
	case kindReset:
		s.lose(&ResetError{string(f.payload)})
	case kindCredit:
		more := binary.BigEndian.Uint32(f.payload)
		if more > uint32(Window-s.window) {
			s.violated("more credit than data")
			return
		}
		if s.window += int(more); len(s.data) > 0 {
			s.send()
		}
	case kindOpen:
		s.violated("opened twice")
		return
	}
	s.changed.Broadcast()
}

// violated ends the stream of a peer that does not keep to the protocol.
func (s *Stream) violated(what string) {
	s.resetWith(what)
	s.lose(protocolErrorf("%s", what))
}

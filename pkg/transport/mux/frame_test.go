package mux

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// frames joins frames.
func frames(all ...[]byte) []byte { return bytes.Join(all, nil) }

func opens(id uint32) []byte              { return appendFrame(nil, id, kindOpen, nil) }
func sends(id uint32, text string) []byte { return appendFrame(nil, id, kindData, []byte(text)) }

// What is no frame, or does not fit into the state of the session, ends the session; what
// does not fit into the state of a stream ends only that.
func TestProtocol(t *testing.T) {
	full := bytes.Repeat(sends(1, strings.Repeat("x", MaxPayload)), Window/MaxPayload)
	for name, tc := range map[string]struct {
		received []byte
		// session is what ends the session, if not the end of the input.
		session string
		// stream is what ends the first stream, if not the session.
		stream string
	}{
		"nothing":                       {},
		"data":                          {received: frames(opens(1), sends(1, "x"))},
		"half a header":                 {received: opens(1)[:5], session: "unexpected EOF"},
		"half a payload":                {received: sends(1, "xyz")[:11], session: "unexpected EOF"},
		"an unknown kind":               {received: appendFrame(nil, 1, 9, nil), session: "kind 9"},
		"a payload that is too long":    {received: appendFrame(nil, 1, kindData, make([]byte, MaxPayload+1)), session: "65537 bytes"},
		"data without data":             {received: appendFrame(nil, 1, kindData, nil), session: "0 bytes"},
		"an open with data":             {received: appendFrame(nil, 1, kindOpen, []byte("x")), session: "1 bytes"},
		"a credit of three bytes":       {received: appendFrame(nil, 1, kindCredit, []byte("xyz")), session: "3 bytes"},
		"data of no stream":             {received: sends(1, "x"), session: "stream 1 cannot be used"},
		"an ID that was used":           {received: frames(opens(2), opens(1)), session: "stream 1 cannot be used"},
		"a stream that is opened twice": {received: frames(opens(1), opens(1)), stream: "opened twice"},
		"a full window":                 {received: frames(opens(1), full)},
		"more than the window":          {received: frames(opens(1), full, sends(1, "x")), stream: "more data than allowed"},
		"data after the end":            {received: frames(opens(1), appendFrame(nil, 1, kindEnd, nil), sends(1, "x")), stream: "more data than allowed"},
		"credit for nothing":            {received: frames(opens(1), appendCredit(nil, 1, 1)), stream: "more credit than data"},
		"data of a stream that ended":   {received: frames(opens(1), appendFrame(nil, 1, kindReset, []byte("bye")), sends(1, "x")), stream: "bye"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var opened []*Stream
			s := Server(bytes.NewReader(tc.received), io.Discard, 8, func(s *Stream) {
				mu.Lock()
				defer mu.Unlock()
				opened = append(opened, s)
			})
			<-s.Done()
			if err := s.Err(); tc.session == "" && !errors.Is(err, io.EOF) || tc.session != "" && !strings.Contains(err.Error(), tc.session) {
				t.Errorf("the session ended with %v, want %q", err, tc.session)
			}
			if tc.stream == "" {
				return
			}
			for len(handled(&mu, &opened)) == 0 { // its goroutine starts
				<-s.Done()
			}
			_, err := io.Copy(io.Discard, handled(&mu, &opened)[0])
			if err == nil {
				_, err = handled(&mu, &opened)[0].Write([]byte("x"))
			}
			if err == nil || !strings.Contains(err.Error(), tc.stream) {
				t.Errorf("the stream ended with %v, want %q", err, tc.stream)
			}
		})
	}
}

func handled(mu *sync.Mutex, opened *[]*Stream) []*Stream {
	mu.Lock()
	defer mu.Unlock()
	return *opened
}

// FuzzServer feeds a server with whatever a peer may send: it holds no more than its limits
// allow, and ends with the input.
func FuzzServer(f *testing.F) {
	f.Add(frames(opens(1), sends(1, "hello"), appendFrame(nil, 1, kindEnd, nil)))
	f.Add(frames(opens(1), opens(2), opens(3), appendFrame(nil, 2, kindReset, []byte("no")), appendCredit(nil, 1, 1)))
	f.Add(frames(opens(7), sends(7, strings.Repeat("x", MaxPayload)), sends(7, strings.Repeat("x", MaxPayload)), sends(7, "x")))
	f.Add(frames(opens(1), sends(2, "x")))
	f.Add([]byte("\x00\x00\x00\x01\x02\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, received []byte) {
		const limit = 4
		var exceeded atomic.Int64 // by a handler, which may outlive this function
		var s *Session
		started := make(chan struct{})
		s = Server(bytes.NewReader(received), io.Discard, limit, func(stream *Stream) {
			<-started
			s.out.Lock()
			if held := stream.in.Len(); held > Window || len(s.streams) > limit {
				exceeded.Store(int64(held))
			}
			s.out.Unlock()
			_, _ = io.Copy(stream, stream) // whatever ends it
			stream.Close("")
		})
		close(started)
		<-s.Done()
		if held := exceeded.Load(); s.Streams() != 0 || held != 0 {
			t.Errorf("%d streams are left; one held %d bytes", s.Streams(), held)
		}
	})
}

// FuzzFrame reads whatever frames there are, which are the ones that were written.
func FuzzFrame(f *testing.F) {
	f.Add(opens(1))
	f.Add(frames(sends(1, "x"), appendCredit(nil, 2, 7)))
	f.Add([]byte("\x00\x00\x00\x01\x02\x00\x00\x00\x09x"))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := reader{from: bytes.NewReader(input)}
		var again []byte
		for {
			frame, err := r.next()
			if err != nil {
				break
			}
			again = appendFrame(again, frame.id, frame.kind, frame.payload)
		}
		if !bytes.HasPrefix(input, again) {
			t.Errorf("%q became %q", input, again)
		}
		if len(r.buffer) > MaxPayload {
			t.Errorf("the buffer has %d bytes", len(r.buffer))
		}
	})
}

package mux

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// connection is both ends of a connection.
type connection struct {
	client, server *Session
	// cut ends what the client reads.
	cut func(error)
}

// connect connects a client to a server with a handler. All ends with the test.
func connect(t *testing.T, limit int, handle func(*Stream)) connection {
	t.Helper()
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	c := connection{Client(fromServer, toServer), Server(fromClient, toClient, limit, handle), func(err error) { toClient.CloseWithError(err) }}
	t.Cleanup(func() {
		c.client.Close(nil)
		c.server.Close(nil)
		for _, pipe := range []io.Closer{fromServer, toClient, fromClient, toServer} {
			pipe.Close()
		}
	})
	return c
}

// open opens a stream.
func (c connection) open(t *testing.T) *Stream {
	t.Helper()
	s, err := c.client.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close("") })
	return s
}

// echo answers with what it has read, after its end.
func echo(s *Stream) {
	defer s.Close("")
	content, err := io.ReadAll(s)
	if err != nil {
		return
	}
	if _, err := s.Write(content); err == nil {
		s.CloseWrite()
	}
}

// random returns n bytes that depend on seed.
func random(seed, n int) []byte {
	content := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(content) // never fails
	return content
}

// asks sends a request, ends it, and returns the answer.
func asks(s *Stream, request []byte) ([]byte, error) {
	if _, err := s.Write(request); err != nil {
		return nil, err
	}
	s.CloseWrite()
	return io.ReadAll(s)
}

// Many streams, of which some are larger than the window and than a frame, arrive whole,
// each with its end; and the session forgets them.
func TestStreamsSideBySide(t *testing.T) {
	c := connect(t, 200, echo)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			s, err := c.client.Open()
			if err != nil {
				t.Error(err)
				return
			}
			want := random(i, []int{0, 1, 100, MaxPayload, MaxPayload + 1, Window, 5*Window + 3}[i%7])
			got, err := asks(s, want)
			if err != nil || sha256.Sum256(got) != sha256.Sum256(want) {
				t.Errorf("stream %d: got %d bytes, want %d: %v", i, len(got), len(want), err)
			}
			<-s.Done()
		})
	}
	wg.Wait()
	if c.client.Streams() != 0 || c.client.Received() == 0 {
		t.Errorf("the client still has %d streams", c.client.Streams())
	}
}

// A side that does not read keeps the writer of its own stream waiting, while others
// converse; and no more than the window is held for it.
func TestSlowReader(t *testing.T) {
	for name, clientReads := range map[string]bool{"the client does not read": false, "the server does not read": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrote := make(chan error, 1)
				floods := func(s *Stream) {
					_, err := s.Write(make([]byte, 10*Window))
					wrote <- err
				}
				var slow *Stream // at the side that does not read
				c := connect(t, 10, func(s *Stream) {
					switch {
					case s.id > 1:
						echo(s)
					case clientReads:
						slow = s
					default:
						floods(s)
					}
				})
				first := c.open(t)
				if clientReads {
					go floods(first)
				} else {
					slow = first
				}
				for i := range 20 {
					want := random(i, 2*Window)
					if got, err := asks(c.open(t), want); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("got %d bytes, %v", len(got), err)
					}
				}
				synctest.Wait()
				if held := slow.in.Len(); held != Window {
					t.Errorf("%d bytes are held, want %d", held, Window)
				}
				select {
				case err := <-wrote:
					t.Fatalf("the writer does not wait: %v", err)
				default:
				}
				if n, err := io.ReadFull(slow, make([]byte, 10*Window)); err != nil {
					t.Errorf("read %d bytes: %v", n, err)
				}
				if err := <-wrote; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Either side may end its direction first; the other direction goes on.
func TestHalfClose(t *testing.T) {
	handled := make(chan struct{})
	c := connect(t, 1, func(s *Stream) {
		defer close(handled)
		_, _ = io.WriteString(s, "to the client")
		s.CloseWrite()
		content, err := io.ReadAll(s)
		if string(content) != "to the server" || err != nil {
			t.Errorf("the server got %q, %v", content, err)
		}
		s.Close("")
	})
	s := c.open(t)
	if got, err := io.ReadAll(s); string(got) != "to the client" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := io.WriteString(s, "to the server"); err != nil {
		t.Error(err)
	}
	s.CloseWrite()
	if _, err := io.WriteString(s, "more"); !errors.Is(err, ErrClosed) {
		t.Errorf("writing after the end: %v", err)
	}
	<-s.Done()
	<-handled
}

// What a side sent before it ended arrives; a side that closes without an end is seen as
// one that did not finish, with its reason.
func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		handle func(*Stream)
		reads  string
		says   string
	}{
		"an end":              {func(s *Stream) { _, _ = io.WriteString(s, "all"); s.CloseWrite(); s.Close("") }, "all", ""},
		"a reset":             {func(s *Stream) { _, _ = io.WriteString(s, "some"); s.Close("it is over") }, "some", "it is over"},
		"a long reason":       {func(s *Stream) { s.Close(strings.Repeat("x", 1000)) }, "", strings.Repeat("x", maxReason)},
		"a reset, unread":     {func(s *Stream) { _, _ = io.ReadFull(s, make([]byte, 3)); s.Close("no") }, "", "no"},
		"a reset of a writer": {func(s *Stream) { _, _ = s.Write(nil); s.Close("") }, "", "the stream was reset"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, 1, tc.handle)
			s := c.open(t)
			_, _ = io.WriteString(s, "hello") // it may be reset
			got, err := io.ReadAll(s)
			if string(got) != tc.reads || (err != nil) != (tc.says != "") || err != nil && !strings.HasSuffix(err.Error(), tc.says) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tc.reads, tc.says)
			}
			if tc.says == "" {
				return
			}
			<-s.Done()
			if _, err := s.Write(make([]byte, 10*Window)); err == nil {
				t.Error("writing succeeds")
			}
		})
	}
}

// Closing a stream wakes its reader and writer, costs the others nothing, and the server
// sees it.
func TestClose(t *testing.T) {
	ended := make(chan error, 1)
	c := connect(t, 2, func(s *Stream) {
		if s.id > 1 {
			echo(s)
			return
		}
		<-s.Done()
		_, err := io.ReadAll(s)
		ended <- err
	})
	s := c.open(t)
	woken := make(chan error, 2)
	go func() { _, err := s.Read(make([]byte, 1)); woken <- err }()
	go func() { _, err := s.Write(make([]byte, 2*Window)); woken <- err }()
	s.Close("enough")
	for range 2 {
		if err := <-woken; !errors.Is(err, ErrClosed) {
			t.Errorf("woken with %v", err)
		}
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("the server sees %v", err)
	}
	if got, err := asks(c.open(t), []byte("hello")); string(got) != "hello" || err != nil {
		t.Errorf("another stream: %q, %v", got, err)
	}
}

// A lost session ends all of its streams, at both ends, with the cause; what was received
// before can be read.
func TestSessionLost(t *testing.T) {
	lost := errors.New("the connection is lost")
	for name, lose := range map[string]func(connection){
		"the connection breaks": func(c connection) { c.cut(lost) },
		"it is closed":          func(c connection) { c.client.Close(lost) },
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, 10, func(s *Stream) { _, _ = io.WriteString(s, "hello") })
			var all []*Stream
			for range 10 {
				s := c.open(t)
				if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				all = append(all, s)
			}
			lose(c)
			for _, s := range all {
				got, err := io.ReadAll(s)
				if string(got) != "ello" || !errors.Is(err, lost) {
					t.Errorf("got %q, %v", got, err)
				}
				<-s.Done()
			}
			<-c.client.Done()
			if _, err := c.client.Open(); !errors.Is(err, lost) || !errors.Is(c.client.Err(), lost) {
				t.Errorf("open: %v", err)
			}
			if c.client.Streams() != 0 {
				t.Error("it still has streams")
			}
		})
	}
}

// A peer that takes nothing loses the session, rather than hold it forever.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		c := Client(fromServer, toServer)
		begin := time.Now()
		if _, err := c.Open(); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if took := time.Since(begin); took != writeTimeout || !errors.Is(c.Err(), ErrWriteTimeout) {
			t.Errorf("it took %s: %v", took, c.Err())
		}
		fromClient.Close()
		toClient.Close()
	})
}

// Streams beyond the limit are reset; once there is room, others are served.
func TestLimit(t *testing.T) {
	leave := make(chan struct{})
	c := connect(t, 2, func(s *Stream) { <-leave; echo(s) })
	first, second := c.open(t), c.open(t)
	if got, err := io.ReadAll(c.open(t)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a third stream: %q, %v", got, err)
	}
	close(leave)
	for i, stream := range []func() *Stream{func() *Stream { return first }, func() *Stream { return second }, func() *Stream { return c.open(t) }} {
		s := stream()
		if got, err := asks(s, fmt.Append(nil, i)); string(got) != fmt.Sprint(i) || err != nil {
			t.Errorf("stream %d: %q, %v", i, got, err)
		}
		<-s.Done()
	}
}

// What the peer opens after the end begins no stream, which nothing would end.
func TestOpenedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, peer := io.Pipe()
		s := Server(from, io.Discard, 4, func(*Stream) { t.Error("a stream is handled") })
		s.Close(nil)
		if _, err := peer.Write(opens(1)); err != nil {
			t.Fatal(err)
		}
		peer.Close()
		s.Wait()
		synctest.Wait()
		if n := s.Streams(); n > 0 {
			t.Errorf("%d streams are left", n)
		}
	})
}

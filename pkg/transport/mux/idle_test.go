package mux

import (
	"io"
	"testing"
	"testing/synctest"
)

// A session without streams ends only when the last frame is written: a stream is over once
// its end is about to be.
func TestCloseIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fromPeer, toServer := io.Pipe()
		fromServer, toPeer := io.Pipe()
		s := Server(fromPeer, toPeer, 1, func(s *Stream) {
			defer s.Close("")
			_, _ = io.ReadAll(s) // until its end
			s.CloseWrite()
		})
		if _, err := toServer.Write(appendFrame(opens(1), 1, kindEnd, nil)); err != nil {
			t.Fatal(err)
		}
		const credit = headerSize + 4
		if _, err := io.ReadFull(fromServer, make([]byte, credit)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s.Streams() > 0 {
			t.Fatal("the stream is not over")
		}
		if s.CloseIdle(nil) {
			t.Error("it ends before the end of the stream is written")
		}
		if _, err := io.ReadFull(fromServer, make([]byte, headerSize)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !s.CloseIdle(nil) || s.Err() == nil {
			t.Error("it does not end")
		}
		toServer.Close()
		fromServer.Close()
		fromPeer.Close()
	})
}

//go:build linux

package jvm

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing is concluded from a part of an answer, and its search takes a bounded amount of
// the container's CPU time, which no deadline interrupts.
func TestLongAnswers(t *testing.T) {
	start, err := StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := Process{PID: os.Getpid(), NamespacePID: os.Getpid(), StartTime: start, UID: os.Getuid(), GID: os.Getgid()}
	socket := filepath.Join("/tmp", p.socketName())
	listener := listen(t, socket)
	defer os.Remove(socket)
	const buffered = 1 << 20
	limits := []int{maxReply, maxReply, maxReply, maxProperties, maxReply}
	taken := make(chan int, len(limits))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			taken <- flood(conn)
		}
	}()
	_, err = p.Memory(deadline(t))
	wantKind(t, err, AttachFailed)
	_, _, err = p.Property(deadline(t), property)
	wantKind(t, err, AttachFailed)
	wantKind(t, p.LoadAgent(deadline(t), "/agent.jar", ""), AttachFailed)
	for i, limit := range limits {
		if n := <-taken; n > limit+buffered {
			t.Errorf("bytes taken of endless answer %d: got %d, want at most %d", i, n, limit+buffered)
		}
	}
}

// flood answers until the other side has had enough, and returns the number of bytes.
func flood(conn net.Conn) int {
	defer conn.Close()
	answer := []byte("0\n" + strings.Repeat("key=value\n", 1<<12))
	for sum := 0; ; {
		n, err := conn.Write(answer)
		if sum += n; err != nil {
			return sum
		}
	}
}

//go:build linux

package jvm

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Regular expressions search the answers of diagnostic commands, in the container's CPU
// time, and no deadline interrupts them.
func TestLongAnswers(t *testing.T) {
	start, err := StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := Process{PID: os.Getpid(), NamespacePID: os.Getpid(), StartTime: start, UID: os.Getuid(), GID: os.Getgid()}
	socket := filepath.Join("/tmp", p.socketName())
	listener := listen(t, socket)
	defer os.Remove(socket)
	const commands = 5
	taken := make(chan int, commands)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			taken <- flood(conn)
		}
	}()
	if _, err := p.Memory(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantKind(t, p.LoadAgent(deadline(t), "/agent.jar", ""), AttachFailed)
	const most = 2 << 20 // with the socket's buffer
	for range commands {
		if n := <-taken; n > most {
			t.Errorf("bytes taken of an endless answer: got %d, want at most %d", n, most)
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

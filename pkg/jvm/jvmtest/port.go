package jvmtest

import (
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var (
	ports sync.Mutex
	// last is the port given last. Test binaries run side by side, each in a PID
	// namespace of its own: it is by their names that they begin elsewhere.
	last = 20000 + 1000*(nameHash()%12)
)

func nameHash() int {
	executable, _ := os.Executable()
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(executable)))
	return int(h.Sum32())
}

// FreePort returns a TCP port that nobody listens on, and that nobody gets by
// chance: the kernel gives those from 32768 on. No port is returned twice. It is
// safe for concurrent use.
func FreePort(t *testing.T) int32 {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for {
		last++
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", last))
		if err != nil {
			if last > 32000 {
				t.Fatal(err)
			}
			continue
		}
		l.Close()
		return int32(last)
	}
}

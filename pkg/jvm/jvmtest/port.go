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
	// last is the port returned last. Test binaries run in parallel, each in its own PID
	// namespace, so their names select different first ports.
	last = 20000 + 1000*(nameHash()%12)
)

func nameHash() int {
	executable, _ := os.Executable()
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(executable)))
	return int(h.Sum32())
}

// FreePort returns a free TCP port outside the kernel's ephemeral range, which starts at
// 32768. It returns each port only once, and is safe for concurrent use.
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

//go:build linux

package pseudofs

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is returned is what os.ReadFile returns, up to the limit.
func TestReadFile(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, []byte(strings.Repeat("0123456789", 3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/proc/self/mountinfo", "/proc/self/cgroup", "/proc/1/cmdline", "/dev/null", long} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{0, 1, len(want) / 2, len(want), len(want) + 1, 1 << 20} {
			got, err := ReadFile(name, limit)
			if err != nil || string(got) != string(want[:min(limit, len(want))]) {
				t.Errorf("%s up to %d bytes: got %d of %d bytes, %v", name, limit, len(got), len(want), err)
			}
		}
	}
}

// All records are there, however many parts the kernel offers them in.
func TestReadRecords(t *testing.T) {
	for range 100 {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		all, err := ReadRecords("/proc/self/net/tcp", 512, 1<<20)
		if port := listener.Addr().(*net.TCPAddr).Port; err != nil || !strings.Contains(string(all), fmt.Sprintf("0100007F:%04X 00000000:0000 0A", port)) {
			t.Fatalf("port %d is not in %d bytes, %v", port, len(all), err)
		}
	}
	want, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRecords("/proc/kallsyms", 1024, 1<<26); err != nil || string(got) != string(want) {
		t.Errorf("got %d of %d bytes, %v", len(got), len(want), err)
	}
}

// Callers distinguish what is gone from what is not theirs to read.
func TestReadFileFails(t *testing.T) {
	for name, want := range map[string]error{"/proc/self/none": fs.ErrNotExist, "/proc/self/fd": syscall.EISDIR} {
		_, err := ReadFile(name, 10)
		if failed, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, want) || failed.Path != name {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

// Nothing of a file stays open, and no child inherits it.
func TestReadFileCloses(t *testing.T) {
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := open()
	for range 10 {
		if _, err := ReadFile("/proc/self/status", 100); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, and %d were", after, before)
	}
}

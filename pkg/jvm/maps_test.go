//go:build linux

package jvm

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestParseMaps(t *testing.T) {
	const (
		java = "55d000000000-55d000001000 r-xp 00000000 08:01 1 /usr/bin/java\n"
		tail = "7f0000000000-7f0000001000 r-xp 00010000 08:01 2                          "
		read = "7f0000000000-7f0000001000 r--p 00010000 08:01 2                          "
	)
	for name, test := range map[string]struct {
		maps           string
		implementation Implementation
		library        string
	}{
		"hotspot":               {java + tail + "/opt/jdk/lib/server/libjvm.so\n", HotSpot, "/opt/jdk/lib/server/libjvm.so"},
		"deleted by an upgrade": {tail + "/opt/jdk/lib/server/libjvm.so (deleted)\n", HotSpot, "/opt/jdk/lib/server/libjvm.so"},
		"spaces":                {tail + "/opt/my jdk/lib/server/libjvm.so\n", HotSpot, "/opt/my jdk/lib/server/libjvm.so"},
		"openj9":                {tail + "/opt/j9/lib/default/libjvm.so\n" + tail + "/opt/j9/lib/default/libj9vm29.so\n", OpenJ9, "/opt/j9/lib/default/libj9vm29.so"},
		"only read":             {java + read + "/opt/jdk/lib/server/libjvm.so\n", "", ""},
		"another library":       {tail + "/opt/libjvm.so.txt\n", "", ""},
		"anonymous":             {"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n", "", ""},
		"empty":                 {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			implementation, library, err := parseMaps(strings.NewReader(test.maps), int64(len(test.maps)+1))
			if implementation != test.implementation || library != test.library || err != nil {
				t.Errorf("got %q, %q, %v", implementation, library, err)
			}
		})
	}
	whole := java + tail + "/opt/jdk/lib/server/libjvm.so\n" + java
	for name, maps := range map[string]io.Reader{
		"cut":       io.MultiReader(strings.NewReader(whole), strings.NewReader(strings.Repeat(java, 100))),
		"long line": strings.NewReader(whole + tail + "/" + strings.Repeat("x", maxMapsLine) + "\n"),
	} {
		if implementation, _, err := parseMaps(maps, int64(len(whole))); !errors.Is(err, errMapsTooLong) || implementation != "" {
			t.Errorf("%s: got %q, %v", name, implementation, err)
		}
	}
	if _, _, err := parseMaps(iotest.ErrReader(io.ErrUnexpectedEOF), 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// A broker maps every segment of its logs, so its libjvm.so is far down in its maps.
func TestManyMaps(t *testing.T) {
	segment, err := os.Create(filepath.Join(t.TempDir(), strings.Repeat("segment", 15)))
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	if err := segment.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	library, err := os.Open(filepath.Join(jvmtest.Need(t, 17).Home, "lib/server/libjvm.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	mapped := func(f *os.File, access int) {
		memory, err := syscall.Mmap(int(f.Fd()), 0, 4096, access, syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Munmap(memory); err != nil {
				t.Error(err)
			}
		})
	}
	mapped(library, syscall.PROT_READ|syscall.PROT_EXEC) // highest address: the kernel allocates downwards
	for range 33_000 {
		mapped(segment, syscall.PROT_READ)
	}
	maps, err := readProc(os.Getpid(), "maps")
	if at := bytes.Index(maps, []byte("libjvm.so")); err != nil || at < 5<<20 {
		t.Fatalf("libjvm.so is at %d: %v", at, err)
	}
	if p, err := look(os.Getpid(), ""); err != nil || p.Implementation != HotSpot {
		t.Errorf("got %q, %v", p.Implementation, err)
	}
}

package transport

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A session starts few tools: each is a process in the container of the application.
func TestScriptStartsFewTools(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	s := newSandbox(t)
	s.write(filepath.Join(s.proc, "sys", "kernel", "arch"), "x86_64\n", 0o644)
	for pid := range 5 {
		s.write(filepath.Join(s.proc, fmt.Sprint(pid+1), "maps"), "7f00 r-xp /opt/java/lib/server/libjvm.so\n", 0o644)
	}
	tools, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	for _, tool := range []string{"cat", "chmod", "grep", "head", "ls", "mkdir", "mv", "rm", "sha256sum", "uname"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		s.write(filepath.Join(tools, tool), fmt.Sprintf("#!/bin/sh\necho %s >>%s\nexec %s \"$@\"\n", tool, log, path), 0o755)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	s.sh = []string{sh}
	t.Setenv("PATH", tools)
	for _, session := range []struct{ what, want string }{
		{"installs the helper", "cat chmod grep head ls ls mkdir mv sha256sum"},
		{"finds the helper", "ls ls"},
	} {
		if err := os.RemoveAll(log); err != nil {
			t.Fatal(err)
		}
		if code := s.talk(helper); code != 0 {
			t.Fatalf("a session that %s ended with %d", session.what, code)
		}
		ran, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(ran))
		slices.Sort(names)
		if got := strings.Join(names, " "); got != session.want {
			t.Errorf("a session that %s started %s; want %s", session.what, got, session.want)
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test runs itself as kubectl jmx.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_MAIN") == "true" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// An error may quote what a container or the API server responded; a terminal obeys none of it.
func TestErrorIsEscaped(t *testing.T) {
	command := exec.Command(os.Args[0], "check", "-f", "\x1b[2Jnone")
	command.Env = append(os.Environ(), "RUN_MAIN=true")
	out, err := command.CombinedOutput()
	if got := string(out); err == nil || !strings.Contains(got, "error: open ?[2Jnone: no such file") {
		t.Errorf("got %q, %v", got, err)
	}
}

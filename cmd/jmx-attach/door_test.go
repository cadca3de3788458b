//go:build linux

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// startDoor starts a door and returns a channel with its result.
func startDoor(t *testing.T, idle string) (door *exec.Cmd, ended chan error) {
	t.Helper()
	door = helperCommand("door", "--idle="+idle)
	out, err := door.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := door.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "waits for sessions") {
		t.Fatalf("it says %q, %v", line, err)
	}
	ended = make(chan error, 1)
	go func() { ended <- door.Wait() }()
	t.Cleanup(func() { _ = door.Process.Kill() })
	return door, ended
}

func endsWell(t *testing.T, ended chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// A door exits when it is idle, and at SIGTERM.
func TestDoorEnds(t *testing.T) {
	_, ended := startDoor(t, "10ms")
	endsWell(t, ended)
	door, ended := startDoor(t, "0s")
	if err := door.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	endsWell(t, ended)
}

// A door outlives a session unless the session leaves no agent.
func TestSessionInDoor(t *testing.T) {
	_, ended := startDoor(t, "0s")
	s := newTalkWith(t, []string{"serve", helperapi.ServeInDoor})
	wantReason(t, s.call(helperapi.VerbInspect, helperapi.Request{}, ""), "")
	s.end()
	select {
	case err := <-ended:
		t.Fatalf("the door has ended: %v", err)
	default:
	}
	other := filepath.Join(helperapi.AgentDirectory, "4000001-1.desired")
	if err := errors.Join(os.MkdirAll(helperapi.AgentDirectory, 0o755), os.WriteFile(other, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	s = newTalkWith(t, []string{"serve", helperapi.ServeInDoor})
	if report := s.call(helperapi.VerbUnload, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}}, ""); !report.AgentsLeft {
		t.Error("the agent of another JVM is not seen")
	}
	s.end()
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	s = newTalkWith(t, []string{"serve", helperapi.ServeInDoor})
	wantReason(t, s.call(helperapi.VerbUnload, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}}, ""), "")
	s.end()
	endsWell(t, ended)
}

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The helper exits if its input breaks off or is invalid.
func TestSessionBreaksOff(t *testing.T) {
	for name, says := range map[string]string{
		"not JSON":     "hello\n",
		"half a line":  `{"id":1,`,
		"endless line": strings.Repeat("x", 1<<17),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTalk(t)
			go func() {
				_, _ = io.WriteString(s.in, says) // the helper may exit before it has read everything
				s.in.Close()
			}()
			report := s.answer().Report
			if report == nil {
				t.Fatal("there is no report")
			}
			wantReason(t, *report, helperapi.ReasonBadRequest)
			s.ended(1)
		})
	}
	t.Run("half a file", func(t *testing.T) {
		file := helperapi.NewFile("exporter-", []byte("all of it"), ".jar")
		s := newTalkOf(t, file)
		if answer := s.ask(helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{file}}); answer.Send != file.Size {
			t.Fatalf("got %+v", answer)
		}
		s.write("all")
		s.in.Close()
		wantReason(t, *s.answer().Report, helperapi.ReasonStagingIncomplete)
		s.ended(1)
		if left, _ := filepath.Glob(filepath.Join(helperapi.AgentDirectory, "*exporter-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// A helper whose caller is gone finishes its operation and exits.
func TestNobodyListens(t *testing.T) {
	content := []byte("staged all the same")
	file := helperapi.NewFile("config-", content, ".yaml")
	line, err := json.Marshal(helperapi.Call{ID: 1, Verb: helperapi.VerbStage, Request: helperapi.Request{Files: []helperapi.File{file}}})
	if err != nil {
		t.Fatal(err)
	}
	s := newTalk(t)
	s.write(string(line) + "\n")
	if answer := s.answer(); answer.Send != file.Size {
		t.Fatalf("got %+v", answer)
	}
	s.pipe.Close()
	s.write(string(content))
	if err := s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit code 1", err)
	}
	if got, err := os.ReadFile(filepath.Join(helperapi.AgentDirectory, file.Name)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("staged %q, %v", got, err)
	}
}

// The helper runs in the application's container, so it exits by itself if its caller
// stalls.
func TestEndsByItself(t *testing.T) {
	t.Run("nothing is asked", func(t *testing.T) {
		s := newTalk(t, idleFor+"=300ms")
		wantReason(t, s.call(helperapi.VerbInspect, helperapi.Request{}, ""), "")
		s.ended(0)
	})
	t.Run("its call does not end", func(t *testing.T) {
		s := newTalk(t, idleFor+"=300ms")
		s.write(`{"id":1,`)
		s.ended(0)
	})
	for name, hello := range map[string]bool{"its hello is not read": false, "its answer is not read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { read.Close(); write.Close() })
			// A separate file description: that of cmd.Stdout does not support deadlines.
			filler, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", write.Fd()), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer filler.Close()
			fill := func() {
				if err := filler.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
					t.Fatal(err)
				}
				if _, err := filler.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("the pipe is not full: %v", err)
				}
			}
			cmd := helperCommand("serve")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout = write
			if !hello {
				fill()
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(4*unreadLifetime, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			if hello {
				if _, err := helperapi.ReadLine(bufio.NewReader(read), helperapi.MaxAnswer); err != nil {
					t.Fatal(err)
				}
				fill()
			}
			if _, err := io.WriteString(in, `{"id":1,"verb":"inspect","request":{}}`+"\n"); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("it ended with %v, want exit code 1", err)
			}
		})
	}
}

// A helper that is killed during staging leaves no file under a final name, and a later
// helper removes what it leaves.
func TestKilledWhileStaging(t *testing.T) {
	content := strings.Repeat("x", 1<<20)
	file := helperapi.NewFile("agent-", []byte(content), ".jar")
	req := helperapi.Request{Files: []helperapi.File{file}}
	partial := func() []string {
		names, _ := filepath.Glob(filepath.Join(helperapi.AgentDirectory, ".agent-*.tmp"))
		return names
	}
	s := newTalkOf(t, file)
	if answer := s.ask(helperapi.VerbStage, req); answer.Send != file.Size {
		t.Fatalf("got %+v", answer)
	}
	s.write(content[:1<<19]) // exceeds the pipe's capacity, so some of it has been read
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // the helper was killed
	if len(partial()) != 1 {
		t.Errorf("there is %v: it was not writing", partial())
	}
	if _, err := os.Stat(filepath.Join(helperapi.AgentDirectory, file.Name)); err == nil {
		t.Error("half a file has its final name")
	}
	for _, name := range partial() {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	s = newTalkOf(t, file)
	wantReason(t, s.call(helperapi.VerbStage, req, content), "")
	s.end()
	if left := partial(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

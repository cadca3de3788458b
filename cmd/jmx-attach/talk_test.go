//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// talk is a session with a helper process.
type talk struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	pipe  io.Closer // the pipe that out reads from
	out   *bufio.Reader
	calls int64
}

// newTalk starts a helper and waits for its hello.
func newTalk(t *testing.T, env ...string) *talk {
	t.Helper()
	return newTalkWith(t, []string{"serve"}, env...)
}

// newTalkOf starts a helper that may stage and load these jars.
func newTalkOf(t *testing.T, jars ...helperapi.File) *talk {
	t.Helper()
	args := []string{"serve"}
	for _, jar := range jars {
		args = append(args, jar.SHA256)
	}
	return newTalkWith(t, args)
}

// newTalkWith starts a helper with the given arguments.
func newTalkWith(t *testing.T, args []string, env ...string) *talk {
	t.Helper()
	cmd := helperCommand(args...)
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(2*stagingLifetime, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { kill.Stop() })
	s := &talk{t: t, cmd: cmd, in: in, pipe: out, out: bufio.NewReader(out)}
	if hello := s.answer().Hello; hello == nil || hello.Version != "devel" || hello.InitStartTime == 0 {
		t.Fatalf("the hello is %+v", hello)
	}
	return s
}

func (s *talk) write(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

// load loads the agent. On a busy machine it may take longer to start than a helper waits:
// the load is repeated, as the operator does.
func (s *talk) load(req helperapi.Request) helperapi.Report {
	s.t.Helper()
	return awaitStart(func() helperapi.Report { return s.call(helperapi.VerbLoad, req, "") }, io.Discard)
}

func (s *talk) answer() helperapi.Answer {
	s.t.Helper()
	var answer helperapi.Answer
	line, err := helperapi.ReadLine(s.out, helperapi.MaxAnswer)
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	if err != nil {
		s.t.Fatalf("%v in %q", err, line)
	}
	return answer
}

func (s *talk) ask(verb helperapi.Verb, req helperapi.Request) helperapi.Answer {
	s.t.Helper()
	s.calls++
	line, err := json.Marshal(helperapi.Call{ID: s.calls, Verb: verb, Request: req})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(string(line) + "\n")
	return s.answer()
}

// call performs one operation, and sends contents if they are requested.
func (s *talk) call(verb helperapi.Verb, req helperapi.Request, contents string) helperapi.Report {
	s.t.Helper()
	answer := s.ask(verb, req)
	if answer.Send > 0 {
		if answer.Send != int64(len(contents)) {
			s.t.Fatalf("it asks for %d bytes, want %d", answer.Send, len(contents))
		}
		s.write(contents)
		answer = s.answer()
	}
	if answer.ID != s.calls || answer.Report == nil || answer.Report.HelperVersion != "devel" {
		s.t.Fatalf("call %d was answered by %+v", s.calls, answer)
	}
	return *answer.Report
}

// ended checks that the helper has exited by itself.
func (s *talk) ended(code int) {
	s.t.Helper()
	rest, err := io.ReadAll(s.out)
	if err != nil || len(rest) > 0 {
		s.t.Errorf("it said %q, %v", rest, err)
	}
	if err := s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != code {
		s.t.Errorf("it ended with %v, want exit code %d", err, code)
	}
}

func (s *talk) end() {
	s.t.Helper()
	s.in.Close()
	s.ended(0)
}

func wantReason(t *testing.T, report helperapi.Report, want helperapi.Reason) {
	t.Helper()
	got := helperapi.Reason("")
	if report.Error != nil {
		got = report.Error.Reason
	}
	if got != want {
		t.Errorf("got %q (%v), want %q", got, report.Error, want)
	}
}

//go:build linux

package fakenode

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/utils/exec"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// Exit codes of the script (pkg/transport/script.go), and of a process that is killed.
const (
	exitHelperMissing = 64
	exitCut           = 65
	exitWrongPod      = 69
	exitNoJava        = 71
	exitKilled        = 137
)

// helperVersion is the version that the helper reports.
const helperVersion = "1"

// Command runs a command of the operator in a container until it ends, as the operator's
// script and the helper behind it would: see pkg/transport/script.go. The error of a command
// that exits with another code than 0 is an exec.ExitError.
func (cs *Containers) Command(at Place, command []string, stdin io.Reader, stdout io.Writer) error {
	cs.mu.Lock()
	cs.sessions++
	c := cs.all[at]
	cs.mu.Unlock()
	if c == nil {
		return errors.New("container not found")
	}
	if c.NoShell && command[0] == "sh" {
		return errors.New(`OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH`)
	}
	s := &session{cs: cs, c: c, at: at, from: bufio.NewReader(stdin), out: stdout}
	ended := make(chan error, 1)
	go func() {
		err := s.script(command)
		if cs.OnEnd != nil {
			cs.OnEnd(c)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-c.exited:
		return exit(exitKilled)
	}
}

// Serve is a session with the helper of a container, without the script.
func (cs *Containers) Serve(at Place, stdin io.Reader, stdout io.Writer) error {
	c := cs.Get(at.Pod, at.Name)
	if c == nil {
		return errors.New("container not found")
	}
	return (&session{cs: cs, c: c, at: at, stays: true, from: bufio.NewReader(stdin), out: stdout}).serve()
}

// exit is the end of a command with a code.
func exit(code int) error {
	if code == 0 {
		return nil
	}
	return exec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
}

// errKilled is the end of a helper whose container has ended: nobody hears of it.
var errKilled = exit(exitKilled)

// session is a command in a container.
type session struct {
	cs    *Containers
	c     *Container
	at    Place
	stays bool
	from  *bufio.Reader
	out   io.Writer
}

// script is what the script does.
func (s *session) script(command []string) error {
	if _, err := io.WriteString(s.out, "\n"); err != nil {
		return err
	}
	if s.c.Hangs {
		<-s.c.exited
		return exit(exitKilled)
	}
	line, err := s.from.ReadString('\n')
	if err != nil {
		return exit(exitWrongPod)
	}
	uid, flags, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	s.stays = flags != "transient"
	if len(command) > 4 {
		if !s.stays {
			defer func() { s.cs.Locked(func() { s.c.leave(command[4]) }) }()
		}
		code, err := s.install(uid, command[4:])
		if err != nil || code != 0 {
			return errors.Join(err, exit(code))
		}
	} else if !s.c.Helper {
		return s.end(exitHelperMissing)
	}
	return s.serve()
}

// end says that the script ends, and reads the rest of its input.
func (s *session) end(code int) error {
	_, err := io.WriteString(s.out, "\n"+wire.EndLine+"\n")
	_, _ = io.Copy(io.Discard, s.from) // whatever ends it
	return errors.Join(err, exit(code))
}

// install takes the helper from the operator unless it is there. args are the script's.
func (s *session) install(uid string, args []string) (code int, err error) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return 0, err
	}
	helper := helperapi.File{Name: args[0], Size: size, SHA256: args[2]}
	var java, there bool
	s.cs.Locked(func() { java, there = len(s.c.JVMs) > 0, s.c.has(helper) })
	switch {
	case there:
		return 0, nil
	case !java:
		return 0, s.end(exitNoJava)
	case uid != string(s.at.Pod):
		return 0, s.end(exitWrongPod)
	}
	if _, err := io.WriteString(s.out, "\njmx-attach send x86_64\n"); err != nil {
		return 0, err
	}
	if _, err := s.from.ReadString('\n'); err != nil {
		return exitCut, nil
	}
	content := s.read(helper)
	s.cs.Locked(func() { err = s.c.put(content) })
	if err != nil {
		return 0, s.end(exitCut)
	}
	return 0, nil
}

// read reads what arrives of a file: less than its size if the stream ends before.
func (s *session) read(file helperapi.File) transport.Blob {
	content := make([]byte, file.Size)
	n, _ := io.ReadFull(s.from, content)
	return transport.Blob{File: file, Content: content[:n]}
}

// serve is what the helper does.
func (s *session) serve() error {
	to := json.NewEncoder(s.out)
	_, id, _ := strings.Cut(s.c.ID, "://")
	if err := to.Encode(helperapi.Answer{Hello: &helperapi.Hello{Version: helperVersion, ContainerID: id, OptionNames: true}}); err != nil {
		return err
	}
	for {
		call, err := helperapi.ReadCall(s.from)
		if err != nil { // the stream ended
			return exit(0)
		}
		answer := helperapi.Answer{ID: call.ID}
		blobs, err := s.receive(to, call)
		if err != nil {
			return err
		}
		report, err := s.perform(call, blobs)
		answer.Report = report
		if err != nil {
			known, ok := errors.AsType[*transport.Error](err)
			if !ok {
				known = &transport.Error{Reason: v1alpha1.ReasonHelperFailed, Message: err.Error()}
			}
			if answer.Report == nil {
				answer.Report = &helperapi.Report{}
			}
			answer.Report.Error = &helperapi.Error{Reason: helperapi.Reason(known.Reason), Message: known.Message}
		}
		if err := to.Encode(answer); err != nil {
			return err
		}
	}
}

// receive asks for the contents of a call's files.
func (s *session) receive(to *json.Encoder, call helperapi.Call) ([]transport.Blob, error) {
	if call.Verb != helperapi.VerbStage {
		return nil, nil
	}
	var size int64
	for _, file := range call.Request.Files {
		size += file.Size
	}
	if err := to.Encode(helperapi.Answer{ID: call.ID, Send: size}); err != nil {
		return nil, err
	}
	var blobs []transport.Blob
	for _, file := range call.Request.Files {
		blobs = append(blobs, s.read(file))
	}
	return blobs, nil
}

// perform performs an operation in the container in which the session runs: another one of
// its name is none of its business.
func (s *session) perform(call helperapi.Call, blobs []transport.Blob) (*helperapi.Report, error) {
	if uid := call.Request.PodUID; uid != "" && uid != string(s.at.Pod) {
		return nil, Fault(v1alpha1.ReasonWrongPod)
	}
	if s.cs.OnCall != nil {
		s.cs.OnCall(s.at, call.Verb, call.Request)
	}
	if s.cs.OnDone != nil {
		defer s.cs.OnDone(s.at, call.Verb, call.Request)
	}
	s.cs.mu.Lock()
	defer s.cs.mu.Unlock()
	if s.c.hasExited() {
		return nil, errKilled
	}
	return s.cs.perform(s.c, s.at.Name, s.stays, call.Verb, call.Request, blobs)
}

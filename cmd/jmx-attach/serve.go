//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// version is set at build time, to distinguish helpers: -ldflags "-X main.version=…".
var version = "devel"

// Limits on the helper's lifetime that hold in any environment: an exec outlives the
// connection that started it.
const (
	// lifetime limits an operation.
	lifetime        = helper.Timeout + 5*time.Second
	stagingLifetime = time.Minute // the contents pass through the API server
)

// unreadLifetime limits how long an answer waits for its reader. A variable for tests.
var unreadLifetime = 10 * time.Second

// idleLifetime limits how long the helper waits for the next call. A variable for tests.
var idleLifetime = time.Minute

// session is a session with the operator. It answers each call before it reads the next
// one, so that the result of every operation is reported.
type session struct {
	in     *bufio.Reader
	helper helper.Helper
	// detached reports that an agent was unloaded, and none was loaded since.
	detached bool
	// idle ends the process. It runs while the session waits for a call.
	idle *time.Timer
	// leaving means that no further call is performed.
	leaving atomic.Bool

	mu  sync.Mutex
	out io.Writer
}

func newSession(stdin io.Reader, stdout io.Writer, beside helper.Beside, jars helper.Jars) *session {
	s := &session{in: bufio.NewReader(stdin), helper: helper.Helper{Version: version, Beside: beside, Jars: jars}, out: stdout}
	s.idle = time.AfterFunc(idleLifetime, func() { os.Exit(0) })
	s.idle.Stop()
	return s
}

// leave ends the session: at once if it waits for a call, and otherwise after the answer.
func (s *session) leave() {
	s.leaving.Store(true)
	if s.idle.Stop() {
		os.Exit(0)
	}
}

// serve runs a session until its input ends, and returns the exit code: 1 if the session
// was broken off.
func (s *session) serve() int {
	hello := s.helper.Hello()
	if err := s.answer(helperapi.Answer{Hello: &hello}); err != nil {
		return 1
	}
	for {
		s.idle.Reset(idleLifetime)
		if s.leaving.Load() {
			return 0
		}
		call, err := helperapi.ReadCall(s.in)
		if !s.idle.Stop() {
			select {} // the timer, or leave, is ending the process
		}
		switch {
		case errors.Is(err, io.EOF):
			return 0
		case err != nil: // where the next line begins is not known
			_ = s.report(call.ID, helperapi.Report{Error: helperapi.Errorf(helperapi.ReasonBadRequest, "The call cannot be read: %v.", err)}) // the process ends anyway
			return 1
		}
		if err := s.perform(call); err != nil {
			return 1
		}
	}
}

// perform performs and answers one call, within a time limit.
func (s *session) perform(call helperapi.Call) error {
	life := lifetime
	if call.Verb == helperapi.VerbStage {
		life = stagingLifetime
	}
	watchdog := time.AfterFunc(life, func() {
		_ = s.report(call.ID, helperapi.Report{Error: helperapi.Errorf(helperapi.ReasonAttachTimeout, "The helper was not done after %s.", life)}) // the process ends anyway
		os.Exit(1)
	})
	contents := &contents{session: s, call: call}
	report := s.helper.Do(context.Background(), call.Verb, call.Request, contents)
	if report.Error == nil && (call.Verb == helperapi.VerbUnload || call.Verb == helperapi.VerbLoad) {
		s.detached = call.Verb == helperapi.VerbUnload && !report.AgentsLeft
	}
	broken := contents.skip()
	if !watchdog.Stop() {
		select {} // the watchdog is answering
	}
	return errors.Join(s.report(call.ID, report), broken)
}

func (s *session) report(id int64, report helperapi.Report) error {
	report.HelperVersion = version
	return s.answer(helperapi.Answer{ID: id, Report: &report})
}

// answer writes one line.
func (s *session) answer(a helperapi.Answer) error {
	line, err := json.Marshal(a)
	if err == nil && len(line) > helperapi.MaxAnswer {
		line, err = json.Marshal(helperapi.Answer{ID: a.ID, Report: &helperapi.Report{
			HelperVersion: version,
			Error:         helperapi.Errorf(helperapi.ReasonAttachFailed, "The report has %d bytes, more than %d.", len(line), helperapi.MaxAnswer),
		}})
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer time.AfterFunc(unreadLifetime, func() { os.Exit(1) }).Stop()
	_, err = s.out.Write(append(line, '\n'))
	return err
}

// contents are the files of a call. They follow its line only when requested, so that
// nothing is transferred for a call that is refused.
type contents struct {
	session *session
	call    helperapi.Call
	rest    *io.LimitedReader // nil until they are requested
}

// Read implements io.Reader.
func (c *contents) Read(p []byte) (int, error) {
	if c.rest == nil {
		var size int64
		for _, file := range c.call.Request.Files {
			if _, beside := c.session.helper.Beside[file]; !beside {
				size += file.Size
			}
		}
		c.rest = &io.LimitedReader{R: c.session.in, N: size}
		if size > 0 {
			if err := c.session.answer(helperapi.Answer{ID: c.call.ID, Send: size}); err != nil {
				return 0, fmt.Errorf("the files cannot be asked for: %w", err)
			}
		}
	}
	return c.rest.Read(p)
}

// skip discards requested contents that were not read, so that the next line is a call.
func (c *contents) skip() error {
	if c.rest == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, c.rest); err != nil {
		return err
	}
	if c.rest.N > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

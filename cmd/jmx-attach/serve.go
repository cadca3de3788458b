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
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The longest that the helper lives, whatever its surroundings do: a remote
// command outlives the connection that started it.
const (
	// lifetime is how long an operation may take.
	lifetime        = helper.Timeout + 5*time.Second
	stagingLifetime = time.Minute // the contents come through the API server
	// unreadLifetime is how long an answer may wait to be read.
	unreadLifetime = 10 * time.Second
)

// idleLifetime is how long the helper waits for the next call. A variable for its
// test.
var idleLifetime = time.Minute

// session is a conversation with the operator. Each call is answered before the next
// one is read, so that nothing runs whose end nobody learns.
type session struct {
	in     *bufio.Reader
	helper helper.Helper
	// detached reports that an agent was unloaded, and none loaded since.
	detached bool

	mu  sync.Mutex
	out io.Writer
}

func newSession(stdin io.Reader, stdout io.Writer, beside helper.Beside, jars helper.Jars) *session {
	return &session{in: bufio.NewReader(stdin), helper: helper.Helper{Version: version, Beside: beside, Jars: jars}, out: stdout}
}

// serve holds a session until its input ends, and returns the exit code: 1 when it
// broke off.
func (s *session) serve() int {
	hello := s.helper.Hello()
	if err := s.answer(helperapi.Answer{Hello: &hello}); err != nil {
		return 1
	}
	for {
		idle := time.AfterFunc(idleLifetime, func() { os.Exit(0) })
		call, err := helperapi.ReadCall(s.in)
		if !idle.Stop() {
			select {} // it is ending
		}
		switch {
		case errors.Is(err, io.EOF):
			return 0
		case err != nil: // where the next line begins is not known
			_ = s.report(call.ID, helperapi.Report{Error: helperapi.Errorf(helperapi.ReasonBadRequest, "The call cannot be read: %v.", err)}) // it ends anyway
			return 1
		}
		if err := s.perform(call); err != nil {
			return 1
		}
	}
}

// perform answers one call, in bounded time.
func (s *session) perform(call helperapi.Call) error {
	life := lifetime
	if call.Verb == helperapi.VerbStage {
		life = stagingLifetime
	}
	watchdog := time.AfterFunc(life, func() {
		_ = s.report(call.ID, helperapi.Report{Error: helperapi.Errorf(helperapi.ReasonAttachTimeout, "The helper was not done after %s.", life)}) // it ends anyway
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

// contents are the files of a call, which follow its line once they are asked for:
// nothing travels that is refused before.
type contents struct {
	session *session
	call    helperapi.Call
	rest    *io.LimitedReader // nil until they are asked for
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

// skip reads past what was asked for and not read, so that what comes next is a line.
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

package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The longest that a call takes. The helper bounds itself in less (15 seconds, a
// minute for staging): canceling a stream does not end the process behind it.
const (
	callTimeout  = 25 * time.Second
	stageTimeout = 75 * time.Second
)

// session is a Session over a wire.
type session struct {
	in    Container
	seam  effects.Seam
	wire  *wire
	hello helperapi.Hello
	// target is the container whose processes are meant, where the helper is in another
	// one: Request.ContainerID.
	target string

	mu    sync.Mutex // one call at a time
	calls int64
}

// Hello implements Session.
func (s *session) Hello() helperapi.Hello { return s.hello }

// Close implements Session.
func (s *session) Close() { s.wire.close(errClosed) }

// on names the container.
func (s *session) on() string { return s.in.Namespace + "/" + s.in.Pod + "/" + s.in.Name }

// Run implements Session.
func (s *session) Run(ctx context.Context, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request.PodUID, request.ContainerID = string(s.in.PodUID), s.target
	// What the helper has beside it does not travel.
	blobs = slices.DeleteFunc(slices.Clone(blobs), func(b Blob) bool { return slices.Contains(s.hello.Files, b.File) })
	var report *helperapi.Report
	err := s.seam(ctx, effects.Effect{Kind: effects.Helper, What: string(verb), On: s.on()}, func(ctx context.Context) (err error) {
		report, err = s.call(ctx, verb, request, blobs)
		return err
	})
	return report, classify(err)
}

// call asks, and reads the answer to that.
func (s *session) call(ctx context.Context, verb helperapi.Verb, request helperapi.Request, blobs []Blob) (*helperapi.Report, error) {
	s.calls++
	line, err := json.Marshal(helperapi.Call{ID: s.calls, Verb: verb, Request: request})
	if err != nil {
		return nil, err
	}
	if len(line) > helperapi.MaxCall {
		return nil, &Error{Reason: v1alpha1.ReasonBadRequest, Message: fmt.Sprintf("The request to the helper has more than %d bytes.", helperapi.MaxCall)}
	}
	timeout := callTimeout
	if verb == helperapi.VerbStage {
		timeout = stageTimeout
	}
	defer time.AfterFunc(timeout, func() { s.wire.cancel(context.DeadlineExceeded) }).Stop()
	defer context.AfterFunc(ctx, func() { s.wire.cancel(context.Cause(ctx)) })()

	s.wire.quota.left = 2 * helperapi.MaxAnswer // what asks for the files, and the report
	s.wire.send(append(line, '\n'))
	for sent := false; ; sent = true {
		answer, err := s.answer()
		if err != nil {
			return nil, err
		}
		if answer.Report != nil {
			if err := implausible(answer.Report); err != nil {
				return nil, s.protocolError(err)
			}
			return typed(answer.Report)
		}
		if sent || answer.Send != size(blobs) {
			return nil, s.protocolError(fmt.Errorf("the helper asks for %d bytes", answer.Send))
		}
		var contents [][]byte
		for _, blob := range blobs {
			contents = append(contents, blob.Content)
		}
		s.wire.send(contents...)
	}
}

// answer reads one. One to another call, and what is none, ends the session: nothing
// that follows could be believed.
func (s *session) answer() (helperapi.Answer, error) {
	var answer helperapi.Answer
	line, err := s.wire.line()
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		return answer, s.protocolError(err)
	}
	if answer.ID != s.calls {
		return answer, s.protocolError(fmt.Errorf("got an answer to call %[2]d, want one to call %[1]d", s.calls, answer.ID))
	}
	return answer, nil
}

// protocolError ends the session. The helper may end by itself, so that none is left.
func (s *session) protocolError(err error) error {
	known := &Error{v1alpha1.ReasonHelperFailed, "The helper's answer cannot be read.", err}
	s.wire.close(known)
	return known
}

func size(blobs []Blob) (size int64) {
	for _, blob := range blobs {
		size += blob.Size
	}
	return size
}

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
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// session is a Session over a wire.
type session struct {
	in    Container
	seam  effects.Seam
	wire  *wire.Wire
	hello helperapi.Hello
	// target is the ID of the target container if the helper runs in another one; it is
	// sent as Request.ContainerID.
	target string
	// classify converts the failure of a call into an *Error.
	classify func(error) error

	mu    sync.Mutex // one call at a time
	calls int64
}

// Hello implements Session.
func (s *session) Hello() helperapi.Hello { return s.hello }

// Close implements Session.
func (s *session) Close() { s.wire.Close(wire.ErrClosed) }

// on returns the name of the container for effects.
func (s *session) on() string { return s.in.Namespace + "/" + s.in.Pod + "/" + s.in.Name }

// Run implements Session.
func (s *session) Run(ctx context.Context, verb helperapi.Verb, request helperapi.Request, blobs ...Blob) (*helperapi.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request.PodUID, request.ContainerID = string(s.in.PodUID), s.target
	// Files that the helper already has next to it are not sent.
	blobs = slices.DeleteFunc(slices.Clone(blobs), func(b Blob) bool { return slices.Contains(s.hello.Files, b.File) })
	var report *helperapi.Report
	err := s.seam(ctx, effects.Effect{Kind: effects.Helper, What: string(verb), On: s.on()}, func(ctx context.Context) (err error) {
		report, err = s.call(ctx, verb, request, blobs)
		return err
	})
	return report, s.classify(err)
}

// call sends a request, then the files if the helper asks for them, and returns the
// report.
func (s *session) call(ctx context.Context, verb helperapi.Verb, request helperapi.Request, blobs []Blob) (*helperapi.Report, error) {
	if !s.hello.OptionNames && slices.ContainsFunc(request.Rules, func(r helperapi.ProcessRule) bool { return r.OptionName != "" }) {
		return nil, errOldHelper
	}
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
	defer time.AfterFunc(timeout, func() { s.wire.Cancel(context.DeadlineExceeded) }).Stop()
	defer context.AfterFunc(ctx, func() { s.wire.Cancel(context.Cause(ctx)) })()

	s.wire.Expect(2 * helperapi.MaxAnswer) // the request for the files, and the report
	s.wire.Send(append(line, '\n'))
	for sent := false; ; sent = true {
		answer, err := s.answer()
		if err != nil {
			return nil, err
		}
		if answer.Report != nil {
			if err := validate(answer.Report); err != nil {
				return nil, s.protocolError(err)
			}
			return sanitize(answer.Report)
		}
		if sent || answer.Send != size(blobs) {
			return nil, s.protocolError(fmt.Errorf("the helper asks for %d bytes", answer.Send))
		}
		var contents [][]byte
		for _, blob := range blobs {
			contents = append(contents, blob.Content)
		}
		s.wire.Send(contents...)
	}
}

// errOldHelper is the error of a request that the helper would misread.
var errOldHelper = &Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The helper is older than the operator, and does not know patterns for the names of options (spec.processes[].argument); check that the flag --door-image names the operator's own image."}

// answer reads an answer. An invalid one, or one to another call, ends the session, since
// nothing that follows could be trusted.
func (s *session) answer() (helperapi.Answer, error) {
	var answer helperapi.Answer
	line, err := s.wire.Line()
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		return answer, s.protocolError(err)
	}
	if answer.ID == 0 && answer.Report != nil && answer.Report.Error != nil { // the helper has ended
		_, err := sanitize(answer.Report)
		s.wire.Cancel(err)
		return answer, err
	}
	if answer.ID != s.calls {
		return answer, s.protocolError(fmt.Errorf("got an answer to call %[2]d, want one to call %[1]d", s.calls, answer.ID))
	}
	return answer, nil
}

// protocolError ends the session with an error. It first lets the helper exit by itself,
// so that no process is left in the container.
func (s *session) protocolError(err error) error {
	known := &Error{v1alpha1.ReasonHelperFailed, "The helper's answer cannot be read.", err}
	s.wire.Close(known)
	return known
}

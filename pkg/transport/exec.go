package transport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// Exec runs the helper as the container's own user, through pods/exec: one for each
// session. It brings the helper in where it is missing.
type Exec struct {
	streams   Streams
	artifacts *Artifacts
	seam      effects.Seam
	limits    *Limits
}

// NewExec returns an Exec that runs its commands by streams.
func NewExec(streams Streams, artifacts *Artifacts, seam effects.Seam, limits *Limits) *Exec {
	return &Exec{streams: streams, artifacts: artifacts, seam: seam, limits: limits}
}

// Open implements Dialer.
func (e *Exec) Open(ctx context.Context, in Container) (Session, error) {
	s, err := e.start(ctx, in, e.artifacts.Command(), e.greet)
	switch {
	case exitCode(err) == exitNoJava:
		return withoutJava{}, nil
	case err != nil:
		return nil, classify(err)
	}
	return s, nil
}

// start executes a command in a container, and greets what it starts.
func (e *Exec) start(ctx context.Context, in Container, command []string, greet func(*wire.Wire, *place) (helperapi.Hello, error)) (*session, error) {
	if err := e.limits.leftovers.check(in); err != nil {
		return nil, err
	}
	place, err := e.limits.acquire(in)
	if err != nil {
		return nil, err
	}
	s := &session{in: in, seam: e.seam, classify: classify}
	var greeted error
	err = e.seam(ctx, effects.Effect{Kind: effects.Exec, What: "session", On: s.on()}, func(context.Context) error {
		s.wire = wire.Dial(ctx, func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
			return e.streams.Stream(ctx, in, command, stdin, stdout, stderr)
		}, place.end)
		s.hello, greeted = greet(s.wire, place)
		if !errors.Is(greeted, errNotReached) {
			e.limits.note(in, !errors.Is(greeted, errNotResponding))
		}
		if exitCode(greeted) == exitNoJava { // no failure, as it is counted
			return nil
		}
		return greeted
	})
	if s.wire == nil { // the seam did not let it
		place.release()
		return nil, err
	}
	if err = cmp.Or(err, greeted); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// greet leads the script to where the helper says Hello.
func (e *Exec) greet(w *wire.Wire, p *place) (helperapi.Hello, error) {
	deadline := time.AfterFunc(helloTimeout, func() { w.Cancel(errNotResponding) })
	defer deadline.Stop()
	p.stallAfter(stallTimeout)
	first := string(p.in.PodUID)
	if p.in.Transient {
		first += " transient"
	}
	w.Send([]byte(first + "\n"))
	for sent := false; ; {
		line, err := w.Line()
		if err != nil {
			return helperapi.Hello{}, err
		}
		if machine, asked := strings.CutPrefix(line, saysSend); asked {
			if sent {
				return helperapi.Hello{}, errSentAlready
			}
			sent = true
			helper, err := e.helper(p.in, machine)
			if err != nil {
				return helperapi.Hello{}, err
			}
			deadline.Reset(installTimeout)
			p.stallAfter(helloTimeout)
			w.Send([]byte("\n"), helper.Content)
			continue
		}
		var answer helperapi.Answer
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &answer) == nil && answer.Hello != nil {
			p.respond()
			return *answer.Hello, nil
		}
	}
}

var errSentAlready = &Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The container requested the helper more than once: its sh is not a POSIX shell, or a tool that the script needs fails. Fix the image, or set spec.transport to EphemeralContainer."}

// helper is the one for a machine, if there is room for it and for what it is to bring.
func (e *Exec) helper(in Container, machine string) (Blob, error) {
	helper, ok := e.artifacts.Helpers[machine]
	if !ok {
		return Blob{}, &Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The script in the container did not report the machine's architecture."}
	}
	return helper, in.CheckSpace(helper, e.artifacts.Agent, e.artifacts.Implementation)
}

// withoutJava is a session with a container in which no Java process runs, and no
// helper.
type withoutJava struct{}

// Run implements Session.
func (withoutJava) Run(_ context.Context, verb helperapi.Verb, _ helperapi.Request, _ ...Blob) (*helperapi.Report, error) {
	if verb == helperapi.VerbInspect || verb == helperapi.VerbUnload {
		return &helperapi.Report{}, nil
	}
	return nil, &Error{Reason: v1alpha1.ReasonProcessGone, Message: "No Java process runs in the container."}
}

// Hello implements Session.
func (withoutJava) Hello() helperapi.Hello { return helperapi.Hello{} }

// Close implements Session.
func (withoutJava) Close() {}

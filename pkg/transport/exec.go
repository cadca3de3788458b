package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	utilexec "k8s.io/client-go/util/exec"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

const (
	// deadline bounds one exec. The helper bounds itself in less (a minute for
	// staging): cancelling a stream does not end the process behind it.
	deadline = 75 * time.Second
	// maxOutput bounds each of standard output and standard error, in bytes.
	maxOutput = 256 << 10
)

// Exec runs the helper as the container's own user, through pods/exec. It
// brings the helper in where it is missing.
type Exec struct {
	streams   streams
	artifacts *Artifacts
	seam      effects.Seam
	limits    *Limits
}

// NewExec returns an Exec for the API server of config; core is its client for
// the core group.
func NewExec(config *rest.Config, core rest.Interface, artifacts *Artifacts, seam effects.Seam, limits *Limits) *Exec {
	return &Exec{streams: execStreams{config: config, core: core}, artifacts: artifacts, seam: seam, limits: limits}
}

// Run implements Helper.
func (e *Exec) Run(ctx context.Context, in Container, verb attach.Verb, request attach.Request, blobs ...Blob) (*attach.Report, error) {
	request.PodUID = string(in.PodUID)
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	run := func() (string, error) {
		stdin := []io.Reader{bytes.NewReader(append(line, '\n'))}
		for _, blob := range blobs {
			stdin = append(stdin, bytes.NewReader(blob.Content))
		}
		return e.exec(ctx, in, string(verb), runCommand(verb, e.artifacts.Helpers), io.MultiReader(stdin...))
	}
	output, err := run()
	if exitCode(err) == exitHelperMissing {
		if err := e.install(ctx, in, lastLine(output)); err != nil {
			return nil, err
		}
		output, err = run()
	}
	if exitCode(err) == exitNoJava {
		return &attach.Report{}, nil
	}
	return report(output, err)
}

func (e *Exec) install(ctx context.Context, in Container, machine string) error {
	helper, ok := e.artifacts.Helpers[machine]
	if !ok {
		return &Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The script that looks for the helper did not say for which machine."}
	}
	stdin := io.MultiReader(strings.NewReader(string(in.PodUID)+"\n"), bytes.NewReader(helper.Content))
	_, err := e.exec(ctx, in, "install", installCommand(helper), stdin)
	return classify(err)
}

// exec returns what the command printed on standard output; an error carries
// the start of what it printed on standard error.
func (e *Exec) exec(ctx context.Context, in Container, what string, command []string, stdin io.Reader) (string, error) {
	release, err := e.limits.acquire(in.Node)
	if err != nil {
		return "", err
	}
	defer release()
	ctx, stop := context.WithTimeout(ctx, deadline)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	stdout := &boundedBuffer{limit: maxOutput, cancel: cancel}
	errout := &boundedBuffer{limit: maxOutput, cancel: cancel}
	effect := effects.Effect{Kind: effects.Exec, What: what, On: in.Namespace + "/" + in.Pod + "/" + in.Name}
	err = e.seam(ctx, effect, func(ctx context.Context) error {
		return e.streams.stream(ctx, in, command, stdin, stdout, errout)
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		err = &execError{err: err, stderr: text.Line(errout.String(), 200)}
	}
	return stdout.String(), err
}

// report reads the helper's answer, which is there also when it exits with 1.
func report(output string, err error) (*attach.Report, error) {
	if err != nil && exitCode(err) != 1 {
		return nil, classify(err)
	}
	r := &attach.Report{}
	if jsonErr := json.Unmarshal([]byte(output), r); jsonErr != nil {
		if err != nil {
			return nil, classify(err)
		}
		return nil, &Error{v1alpha1.ReasonHelperFailed, "The helper's answer cannot be read.", jsonErr}
	}
	for i := range r.Processes {
		if refusal := r.Processes[i].Refusal; refusal != nil {
			*refusal = typed(*refusal)
		}
	}
	if r.Error == nil {
		return r, classify(err)
	}
	reported := typed(*r.Error)
	return r, &Error{Reason: string(reported.Reason), Message: reported.Message}
}

// typed is an error as it may stand in a record and in a metric: what comes out of
// a container is not to be trusted to fit.
func typed(e attach.Error) attach.Error {
	if !v1alpha1.Known(string(e.Reason)) {
		e.Reason = v1alpha1.ReasonHelperFailed
	}
	e.Message = text.Line(e.Message, maxSentence) + "."
	return e
}

// maxSentence bounds what the helper says, in bytes.
const maxSentence = 500

// lastLine is the last line that is not empty: a shell may print a banner first.
func lastLine(output string) string {
	lines := strings.Fields(output)
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// execError is the failure of an exec with what was said on standard error.
type execError struct {
	err    error
	stderr string
}

func (e *execError) Error() string {
	if e.stderr == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("%v: %s", e.err, e.stderr)
}

func (e *execError) Unwrap() error { return e.err }

// exitCode is the command's exit code; 0 for no error, -1 for one that is no
// exit of the command.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		return exit.Code
	}
	return -1
}

// stderr is what the command printed on standard error, as the end of a sentence.
func stderr(err error) string {
	if failed, ok := errors.AsType[*execError](err); ok && failed.stderr != "" {
		return ": " + failed.stderr
	}
	return ""
}

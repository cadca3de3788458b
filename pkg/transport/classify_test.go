package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

var pods = schema.GroupResource{Resource: "pods"}

// exited returns the error of a command that exited with a code after it printed stderr.
func exited(code int, stderr string) error {
	return &wire.ExecError{Err: utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}, Stderr: stderr}
}

func TestClassify(t *testing.T) {
	cases := map[string]struct {
		err  error
		want string
		says string
	}{
		"cut":              {exited(exitCut, ""), v1alpha1.ReasonStagingIncomplete, "sending it again."},
		"/tmp":             {exited(exitNotWritable, ""), v1alpha1.ReasonTmpNotWritable, "emptyDir"},
		"home":             {exited(exitNotTrusted, ""), v1alpha1.ReasonAgentDirectoryNotTrusted, "remove it."},
		"write failed":     {exited(exitWriteFailed, "cat: write error: No space left on device"), v1alpha1.ReasonNoSpace, "cat: write error: No space left on device."},
		"wrong pod":        {exited(exitWrongPod, ""), v1alpha1.ReasonWrongPod, "UID"},
		"machine":          {exited(exitUnknownMachine, ""), v1alpha1.ReasonHelperNotExecutable, "CPU"},
		"not executable":   {exited(126, "sh: jmx-attach: Permission denied"), v1alpha1.ReasonHelperNotExecutable, "Permission denied."},
		"a tool is absent": {exited(exitToolMissing, "sha256sum"), v1alpha1.ReasonNoShell, "a tool that attaching by exec needs: sha256sum."},
		"not installed":    {exited(exitHelperMissing, ""), v1alpha1.ReasonHelperFailed, "after its installation"},
		"no shell, by its exit code": {
			exited(127, `exec: "sh": executable file not found in $PATH`), v1alpha1.ReasonNoShell, "no shell",
		},
		"few tasks": {exited(exitFewTasks, "at least 88 of 100"), v1alpha1.ReasonInsufficientThreads, "In use: at least 88 of 100."},
		"no thread for the helper": {
			exited(2, "runtime: failed to create new OS thread (have 3 already; errno=11)"), v1alpha1.ReasonInsufficientThreads, "podPidsLimit",
		},
		"no process for a tool": {exited(2, "sh: 1: Cannot fork"), v1alpha1.ReasonInsufficientThreads, "podPidsLimit"},
		"no process for the exec": {
			apierrors.NewInternalError(errors.New("OCI runtime exec failed: exec failed: unable to start container process: can't copy bootstrap data to pipe: fork: Resource temporarily unavailable")),
			v1alpha1.ReasonInsufficientThreads, "podPidsLimit",
		},
		"helper failed":                  {exited(2, "panic: oh"), v1alpha1.ReasonHelperFailed, "panic: oh."},
		"helper killed":                  {exited(137, ""), v1alpha1.ReasonHelperKilled, "ran out of memory, or by a process that may signal it"},
		"killed by its security profile": {exited(159, "Bad system call"), v1alpha1.ReasonHelperKilled, "ended by signal 31. Check"},
		"another exit":                   {exited(255, ""), v1alpha1.ReasonHelperFailed, "The helper failed."},

		"too much output": {wire.ErrOutputTooLarge, v1alpha1.ReasonHelperFailed, "exceeded the limit"},
		"deadline":        {fmt.Errorf("stream: %w", context.DeadlineExceeded), v1alpha1.ReasonExecTimeout, "in time"},
		"pod gone":        {apierrors.NewNotFound(pods, "app-0"), v1alpha1.ReasonPodGone, "gone"},
		"RBAC": {
			apierrors.NewForbidden(pods, "app-0", errors.New(`User "system:serviceaccount:x:y" cannot create resource "pods/exec" in API group "" in the namespace "x"`)),
			v1alpha1.ReasonExecForbidden, "get and create on pods/exec",
		},
		"webhook": {
			apierrors.NewForbidden(pods, "app-0", errors.New(`admission webhook "no.example.com" denied the request: nobody execs here`)),
			v1alpha1.ReasonExecRefused, `webhook "no.example.com" denied the request: nobody execs here.`,
		},
		"webhook with another status": {
			&apierrors.StatusError{ErrStatus: apierrors.NewBadRequest(`admission webhook "no.example.com" denied the request: no`).ErrStatus},
			v1alpha1.ReasonExecRefused, "no.",
		},
		"policy": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "PodExecOptions"}, "app-0", nil),
			v1alpha1.ReasonExecFailed, "is invalid",
		},
		"admission plugin": {apierrors.NewForbidden(pods, "app-0", errors.New("exec is off")), v1alpha1.ReasonExecRefused, "exec is off."},
		"no shell": {
			apierrors.NewInternalError(errors.New(`error executing command in container: exec: "sh": executable file not found in $PATH: unknown`)),
			v1alpha1.ReasonNoShell, "no shell",
		},
		"no shell, crun": {errors.New("executable file `sh` not found in $PATH: No such file or directory"), v1alpha1.ReasonNoShell, "no shell"},
		"the runtime is busy": {
			apierrors.NewInternalError(errors.New("dial unix /run/containerd/containerd.sock: connect: resource temporarily unavailable")),
			v1alpha1.ReasonExecFailed, "containerd.sock",
		},
		"the runtime restarts": {
			apierrors.NewInternalError(errors.New("dial unix /run/containerd/containerd.sock: connect: no such file or directory")),
			v1alpha1.ReasonExecFailed, "containerd.sock",
		},
		"kubelet away": {
			apierrors.NewInternalError(errors.New("error dialing backend: dial tcp 10.0.0.1:10250: connect: connection refused")),
			v1alpha1.ReasonExecFailed, "connection refused.",
		},
		"anything else": {errors.New("unexpected EOF"), v1alpha1.ReasonExecFailed, "was interrupted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got *Error
			if !errors.As(classify(tc.err), &got) {
				t.Fatalf("classify(%v) is no *Error", tc.err)
			}
			if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %q; want %s and %q", got.Reason, got.Message, tc.want, tc.says)
			}
			if !errors.Is(got, tc.err) || strings.Contains(got.Message, "\n") || !strings.HasSuffix(got.Message, ".") || strings.HasSuffix(got.Message, "..") {
				t.Errorf("not a sentence with its cause: %q", got.Message)
			}
		})
	}
	if err := classify(nil); err != nil {
		t.Errorf("classify(nil) = %v", err)
	}
}

// The API server's own answer to the upgrade is final. Anything else on the path may not
// support WebSocket, so SPDY is tried.
func TestAnswer(t *testing.T) {
	no := apierrors.NewForbidden(pods, "app-0", errors.New("no"))
	busy := apierrors.NewTooManyRequests("later", 3)
	broken := apierrors.NewInternalError(errors.New("error dialing backend"))
	unknown := apierrors.NewBadRequest("unable to upgrade")
	cases := map[string]struct {
		err  error
		want error
		// spdy is whether the exec is tried over SPDY.
		spdy bool
	}{
		"nothing":          {nil, nil, false},
		"a proxy's page":   {&httpstream.UpgradeFailureError{Cause: fmt.Errorf("websocket: bad handshake (%s)", http.StatusText(http.StatusBadGateway))}, nil, true},
		"the API server":   {&httpstream.UpgradeFailureError{Cause: no}, no, false},
		"a server in need": {&httpstream.UpgradeFailureError{Cause: broken}, broken, false},
		"a busy server":    {&httpstream.UpgradeFailureError{Cause: busy}, busy, false},
		"an old server":    {&httpstream.UpgradeFailureError{Cause: unknown}, nil, true},
		"after the start":  {exited(1, ""), nil, false},
	}
	for name, tc := range cases {
		if got := apiServerError(tc.err); !errors.Is(got, tc.want) || got != nil && tc.want == nil {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if got := needsSPDY(tc.err); got != tc.spdy {
			t.Errorf("%s: tried over SPDY: %t", name, got)
		}
	}
}

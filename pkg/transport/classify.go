package transport

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilexec "k8s.io/client-go/util/exec"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// exitErrors maps exit codes to errors. The command's standard error completes a message
// that does not end with a period.
var exitErrors = map[int]Error{
	exitHelperMissing:  {Reason: v1alpha1.ReasonHelperFailed, Message: "The helper is missing in " + helperapi.AgentDirectory + " after its installation."},
	exitCut:            {Reason: v1alpha1.ReasonStagingIncomplete, Message: "The helper arrived incomplete in the container; sending it again."},
	exitNotWritable:    {Reason: v1alpha1.ReasonTmpNotWritable, Message: "/tmp is not writable, and HotSpot opens its attach socket nowhere else. " + jvm.MountTmp},
	exitNotTrusted:     {Reason: v1alpha1.ReasonAgentDirectoryNotTrusted, Message: helperapi.AgentDirectory + " belongs to another user, or is not a directory; remove it."},
	exitWriteFailed:    {Reason: v1alpha1.ReasonNoSpace, Message: "The helper cannot be written to " + helperapi.AgentDirectory},
	exitWrongPod:       {Reason: v1alpha1.ReasonWrongPod, Message: "The container's mounts do not show this pod's UID: the pod was replaced, or the container has no mounts from the kubelet."},
	exitUnknownMachine: {Reason: v1alpha1.ReasonHelperNotExecutable, Message: "The node's CPU is neither amd64 nor arm64: there is no helper for it."},
	exitToolMissing:    {Reason: v1alpha1.ReasonNoShell, Message: "The container lacks a tool that attaching by exec needs"},
	exitFewTasks:       {Reason: v1alpha1.ReasonInsufficientThreads, Message: fmt.Sprintf("Fewer than %d tasks (processes and threads), which a session needs, are left below the limit of the container (pids.max). Raise the limit, or let the application use fewer threads. In use", neededTasks)},
	126:                {Reason: v1alpha1.ReasonHelperNotExecutable, Message: "The helper cannot be executed in " + helperapi.AgentDirectory + ": /tmp is mounted noexec, or a security policy refuses it"},
}

const (
	// exitSignaled is what shells and container runtimes add to the number of the signal that
	// ended a command.
	exitSignaled = 128
	sigkill      = 9
	// maxSignal is the largest number of a signal on Linux.
	maxSignal = 64
)

var (
	// noShell matches the errors for a missing command of runc and crun, and of
	// containerd and CRI-O around them. Some are printed on standard error, with exit
	// code 1, 126, 127 or 255.
	noShell = regexp.MustCompile(`(?i)exec: "sh"|executable file.* not found in \$PATH|"sh".*no such file`)
	// noTask matches the errors of Go's runtime, shells, and container runtimes that
	// cannot start a thread or process.
	noTask = regexp.MustCompile(`(?i)(fork|clone|thread)[^\n]*resource temporarily unavailable|failed to create new os thread|(can't|cannot) fork`)
	// rbacDenied matches RBAC's message: User "…" cannot create resource "pods/exec"
	// (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go).
	rbacDenied = regexp.MustCompile(`cannot \w+ resource "pods/exec"`)
)

// classify converts the failure of an exec into an *Error while the cause is known. It
// returns an *Error unchanged.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	message, code := err.Error(), exitCode(err)
	switch {
	case errors.Is(err, errNotResponding):
		return &Error{v1alpha1.ReasonContainerNotResponding, fmt.Sprintf("The container did not answer an exec within %s: its runtime or node hangs, or it is starved of CPU.", helloTimeout), err}
	case errors.Is(err, wire.ErrOutputTooLarge), errors.Is(err, helperapi.ErrLineTooLong):
		return &Error{v1alpha1.ReasonHelperFailed, "The output of the command in the container exceeded the limit; fix the image's shell or tools, or whatever replaced them.", err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{v1alpha1.ReasonExecTimeout, "The helper in the container did not answer in time.", err}
	case errors.Is(err, wire.ErrEnded):
		return &Error{v1alpha1.ReasonHelperFailed, "The helper exited before it answered.", err}
	case noShell.MatchString(message):
		return &Error{v1alpha1.ReasonNoShell, "The container has no shell (sh), which attaching by exec needs.", err}
	case noTask.MatchString(message), noTask.MatchString(stderr(err)):
		return &Error{v1alpha1.ReasonInsufficientThreads, "A session in the container could not start a process or thread: a limit of the container, its pod (podPidsLimit of the kubelet) or its user is reached. Raise it, or let the application use fewer threads.", err}
	case code >= 0:
		return classifyExit(code, err)
	case apierrors.IsNotFound(err):
		return &Error{v1alpha1.ReasonPodGone, "The pod is gone.", err}
	case rbacDenied.MatchString(message):
		return &Error{v1alpha1.ReasonExecForbidden, "RBAC does not let the operator exec into pods of this namespace: it needs get and create on pods/exec.", err}
	case denied(err):
		return &Error{v1alpha1.ReasonExecRefused, "An admission policy denied the exec: " + text.Denial(err) + ".", err}
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return &Error{v1alpha1.ReasonExecFailed, "The exec into the container failed: " + text.Line(status.Status().Message, 200) + ".", err}
	}
	return &Error{v1alpha1.ReasonExecFailed, "The exec into the container was interrupted.", err}
}

func classifyExit(code int, err error) error {
	known, ok := exitErrors[code]
	switch killer := code - exitSignaled; {
	case ok:
	case killer == sigkill:
		known = Error{Reason: v1alpha1.ReasonHelperKilled, Message: "The helper was killed (SIGKILL): by the kernel, because the container or its node ran out of memory, or by a process that may signal it, such as another one of its user in the container. Compare the memory that the container uses with its limit; if there is room, find the process that kills others"}
	case 0 < killer && killer <= maxSignal:
		known = Error{Reason: v1alpha1.ReasonHelperKilled, Message: fmt.Sprintf("The helper was ended by signal %d. Check which process of the container sends it, whether a security profile forbids a system call (31), and the ulimits of the container", killer)}
	default:
		known = Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The helper failed"}
	}
	known.Err = err
	if !strings.HasSuffix(known.Message, ".") {
		known.Message += stderr(err) + "."
	}
	return &known
}

// denied reports whether an admission policy or webhook denied the request, whatever the
// status code.
func denied(err error) bool { return text.Denied(err) || apierrors.IsForbidden(err) }

// exitCode returns the command's exit code, or -1 if err is not the exit of a command.
func exitCode(err error) int {
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		return exit.Code
	}
	return -1
}

// stderr returns what the command printed on standard error, as the end of a sentence.
func stderr(err error) string {
	if failed, ok := errors.AsType[*wire.ExecError](err); ok && failed.Stderr != "" {
		return ": " + failed.Stderr
	}
	return ""
}

package transport

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

var exits = map[int]Error{
	exitCut:            {Reason: v1alpha1.ReasonStagingIncomplete, Message: "The helper did not arrive whole in the container; it is sent again."},
	exitNotWritable:    {Reason: v1alpha1.ReasonTmpNotWritable, Message: "/tmp cannot be written to, and HotSpot opens its attach socket nowhere else: mount an emptyDir volume at /tmp."},
	exitNotTrusted:     {Reason: v1alpha1.ReasonHomeNotTrusted, Message: attach.Home + " belongs to another user, or is no directory: remove it."},
	exitWriteFailed:    {Reason: v1alpha1.ReasonNoSpace, Message: "The helper cannot be written to " + attach.Home},
	exitWrongPod:       {Reason: v1alpha1.ReasonWrongPod, Message: "The container's mounts do not show this pod's UID: it is another pod's by now, or mounts nothing of the kubelet's."},
	exitUnknownMachine: {Reason: v1alpha1.ReasonHelperNotExecutable, Message: "The node's CPU is neither amd64 nor arm64: there is no helper for it."},
	126:                {Reason: v1alpha1.ReasonHelperNotExecutable, Message: "The helper cannot be executed in " + attach.Home + ": /tmp is mounted noexec, or a security policy refuses it"},
	127:                {Reason: v1alpha1.ReasonNoShell, Message: "The container lacks a tool that attaching by exec needs (sh, uname, cat, wc, mkdir, chmod, mv, sha256sum)"},
}

// classify turns the failure of an exec into an Error, here where the cause is
// known.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := exits[exitCode(err)]; ok {
		known.Err = err
		if !strings.HasSuffix(known.Message, ".") {
			known.Message += said(err) + "."
		}
		return &known
	}
	var status apierrors.APIStatus
	text := err.Error()
	switch {
	case errors.Is(err, errOutputTooLarge):
		return &Error{v1alpha1.ReasonHelperFailed, "The command in the container printed more than 256 KiB.", err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{v1alpha1.ReasonExecTimeout, "The command in the container did not end in time.", err}
	case exitCode(err) > 0:
		return &Error{v1alpha1.ReasonHelperFailed, "The helper broke off" + said(err) + ".", err}
	case apierrors.IsNotFound(err):
		return &Error{v1alpha1.ReasonPodGone, "The pod is gone.", err}
	case strings.Contains(text, "denied request") || strings.Contains(text, "denied the request"):
		// A policy's and a webhook's wording; what they say of their own may
		// sound like RBAC.
		return refused(err)
	case apierrors.IsForbidden(err) && strings.Contains(text, "cannot "):
		// RBAC's wording: User "…" cannot create resource "pods/exec" (k8s.io/apiserver
		// pkg/endpoints/handlers/responsewriters/errors.go).
		return &Error{v1alpha1.ReasonExecForbidden, "RBAC does not let the operator exec into pods of this namespace: it needs get and create on pods/exec.", err}
	case apierrors.IsForbidden(err):
		return refused(err)
	case strings.Contains(text, "executable file not found") || strings.Contains(text, "no such file or directory") && !strings.Contains(text, "dial "):
		// The runtime's wording, which the kubelet passes on; a runtime whose
		// socket is not there at the moment is another matter.
		return &Error{v1alpha1.ReasonNoShell, "The container has no shell (sh), which attaching by exec needs.", err}
	case errors.As(err, &status):
		return &Error{v1alpha1.ReasonExecFailed, "The exec into the container failed: " + firstLine(status.Status().Message) + ".", err}
	}
	return &Error{v1alpha1.ReasonExecFailed, "The exec into the container broke off.", err}
}

func refused(err error) error {
	return &Error{v1alpha1.ReasonExecRefused, "An admission policy refuses the exec: " + policyWords(err) + ".", err}
}

// policyWords is what the policy said, without the pod's name before it.
func policyWords(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, "is forbidden: "); ok {
		text = after
	}
	return firstLine(text)
}

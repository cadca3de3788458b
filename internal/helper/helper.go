//go:build linux

// Package helper performs the operations of pkg/helperapi on the Java processes of
// the container, or of the host, that it runs in.
package helper

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// Helper performs the operations. It may be used concurrently, also by several
// processes: what must not happen twice at a time happens under a lock in the agent directory.
type Helper struct {
	// Version is reported with every answer.
	Version string
	// Beside are the files that are staged from there.
	Beside Beside
	// Jars are what may be staged and loaded.
	Jars Jars
}

// Timeout is how long Do works on a request, reading what is to be staged aside.
const Timeout = 10 * time.Second

// Do performs one operation and reports what it found or why it failed, in
// Report.Error. blobs are the contents of req.Files, one after the other, those
// beside the helper aside, and are read by VerbStage only. Do returns within Timeout, but for blobs: reading
// them takes as long as their reader does.
func (dir Helper) Do(ctx context.Context, verb helperapi.Verb, req helperapi.Request, blobs io.Reader) helperapi.Report {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	report := helperapi.Report{HelperVersion: dir.Version}
	if err := dir.perform(ctx, verb, req, blobs, &report); err != nil {
		report.Error = typed(err)
	}
	return report
}

func (dir Helper) perform(ctx context.Context, verb helperapi.Verb, req helperapi.Request, blobs io.Reader, report *helperapi.Report) error {
	if err := checkPod(req.PodUID); err != nil {
		return err
	}
	switch verb {
	case helperapi.VerbInspect:
		return inspect(ctx, req, report)
	case helperapi.VerbStage:
		return stage(req, dir, blobs, report)
	case helperapi.VerbLoad:
		return load(ctx, req, dir.Jars, report)
	case helperapi.VerbStatus:
		return status(ctx, req, report)
	case helperapi.VerbUnload:
		return unload(ctx, req, report)
	case helperapi.VerbProbe:
		return probe(ctx, req)
	default:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "There is no operation %q.", verb)
	}
}

// typed gives every error a reason, and a sentence that stays the same from one
// try to the next: it ends up in a status, where every change is a write.
func typed(err error) *helperapi.Error {
	if ours, ok := errors.AsType[*helperapi.Error](err); ok {
		return ours
	}
	if theirs, ok := errors.AsType[*jvm.Error](err); ok {
		return helperapi.Errorf(helperapi.Reason(theirs.Kind), "%s", theirs.Message)
	}
	if named, ok := errors.AsType[*fs.PathError](err); ok { // temporary names differ each time, and a sentence should not
		err = named.Err
	}
	if named, ok := errors.AsType[*os.LinkError](err); ok {
		err = named.Err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return helperapi.Errorf(helperapi.ReasonNoSpace, "No space is left for %s: %v.", helperapi.AgentDirectory, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return helperapi.Errorf(helperapi.ReasonTmpNotWritable, "User %d cannot write to %s: %v. %s", os.Geteuid(), helperapi.AgentDirectory, err, jvm.MountTmp)
	case errors.Is(err, context.DeadlineExceeded):
		return helperapi.Errorf(helperapi.ReasonAttachTimeout, "The operation took longer than %s.", Timeout)
	default:
		return helperapi.Errorf(helperapi.ReasonAttachFailed, "%v.", err)
	}
}

// checkPod makes sure that this process runs in the pod with the UID given: exec
// has no such precondition, and a StatefulSet's pods keep their names. The
// kubelet mounts /etc/hosts and the termination log from a directory named after
// the pod's UID; cgroup mounts show it with underscores.
func checkPod(uid string) error {
	if uid == "" {
		return nil
	}
	if strings.Trim(uid, "0123456789abcdefABCDEF-") != "" {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not a pod's UID.", uid)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if !inPod(string(mounts), uid) {
		return helperapi.Errorf(helperapi.ReasonWrongPod, "This is not the pod with UID %s: it was replaced, or nothing of its kubelet's is mounted.", uid)
	}
	return nil
}

func inPod(mountinfo, uid string) bool {
	return strings.Contains(mountinfo, "/pods/"+uid+"/") ||
		strings.Contains(mountinfo, "-pod"+strings.ReplaceAll(uid, "-", "_")+".slice")
}

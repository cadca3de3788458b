//go:build linux

// Package helper implements the operations of pkg/helperapi on the Java processes of its
// own container, of a target container, or of the host.
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

// Helper performs the operations. It is safe for concurrent use, also by several
// processes: operations that must not run concurrently hold a lock in the agent
// directory.
type Helper struct {
	// Version is reported in every answer.
	Version string
	// Beside are the files that can be staged without being sent.
	Beside Beside
	// Jars are the jars that may be staged and loaded.
	Jars Jars
}

// Timeout is how long Do may take, except for reading the contents to stage.
const Timeout = 10 * time.Second

// Do performs one operation and reports its result, or the failure in Report.Error. blobs
// are the contents of req.Files in order, except those beside the helper; only VerbStage
// reads them. Do returns within Timeout, except for reading blobs, which takes as long as
// the reader does.
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

// typed converts any error to one with a reason and a message that is the same at each
// retry: it is written to a status, where every change is an API write.
func typed(err error) *helperapi.Error {
	if ours, ok := errors.AsType[*helperapi.Error](err); ok {
		return ours
	}
	if theirs, ok := errors.AsType[*jvm.Error](err); ok {
		return helperapi.Errorf(helperapi.Reason(theirs.Kind), "%s", theirs.Message)
	}
	if named, ok := errors.AsType[*fs.PathError](err); ok { // temporary names differ between retries
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

// checkPod verifies that this process runs in the pod with the given UID: exec has no
// such precondition, and the pods of a StatefulSet keep their names. The kubelet mounts
// /etc/hosts and the termination log from a directory named after the pod's UID; cgroup
// mounts show it with underscores.
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

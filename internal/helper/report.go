//go:build linux

package helper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// Timeout is how long Do may take, except for reading the contents to stage.
const Timeout = 10 * time.Second

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

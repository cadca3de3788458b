//go:build linux

package directory

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

// lockTimeout is how long a helper waits for another one that is working on the same JVM,
// before it answers ReasonBusy.
const lockTimeout = 2 * time.Second

// Lock acquires the lock of one JVM and returns a function that releases it. It fails with
// ReasonBusy if another helper holds the lock, or has changed what is desired of the agent
// since this one was asked: which of them the operator gave up is unknown here, but only
// the other one's operator gets an answer, and asks again. The kernel releases the lock if the
// helper dies.
func (dir *Directory) Lock(ctx context.Context, p jvm.Process, asked time.Time) (unlock func(), err error) {
	name := LockFile(p)
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, helperapi.Errorf(helperapi.ReasonBusy, "Another helper has just removed %s.", helperapi.AgentDirectory)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if unlock == nil {
			f.Close()
		}
	}()
	if err := lockFile(ctx, f); err != nil {
		return nil, err
	}
	if !dir.stillNamed(f, name) || dir.changedSince(DesiredFile(p), asked) {
		return nil, helperapi.Errorf(helperapi.ReasonBusy, "Another helper has just loaded, reconfigured or stopped the agent of this JVM.")
	}
	return func() { f.Close() }, nil
}

// lockFile waits until it has the lock on f.
func lockFile(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return helperapi.Errorf(helperapi.ReasonBusy, "Another helper is working on this JVM.")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// changedSince reports whether a file was written after t. A file server may have another clock:
// what was written in the future says nothing.
func (dir *Directory) changedSince(name string, t time.Time) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.ModTime().After(t) && !info.ModTime().After(time.Now())
}

// stillNamed reports whether f is still the file with that name: unload removes the lock
// that it holds.
func (dir *Directory) stillNamed(f *os.File, name string) bool {
	held, failed := f.Stat()
	named, err := dir.Lstat(name)
	return failed == nil && err == nil && os.SameFile(held, named)
}

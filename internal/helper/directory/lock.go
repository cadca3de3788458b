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
// ReasonBusy if another helper holds the lock. The kernel releases it if the helper dies.
func (dir *Directory) Lock(ctx context.Context, p jvm.Process) (unlock func(), err error) {
	name := LockFile(p)
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		f, err := dir.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, helperapi.Errorf(helperapi.ReasonBusy, "Another helper has just removed %s.", helperapi.AgentDirectory)
		}
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && dir.stillNamed(f, name) {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, helperapi.Errorf(helperapi.ReasonBusy, "Another helper is working on this JVM.")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stillNamed reports whether f is still the file with that name: unload removes the lock
// that it holds, and a helper that waited for it would hold a deleted file.
func (dir *Directory) stillNamed(f *os.File, name string) bool {
	held, failed := f.Stat()
	named, err := dir.Lstat(name)
	return failed == nil && err == nil && os.SameFile(held, named)
}

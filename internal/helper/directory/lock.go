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

// Turn is the place of a helper among those that want to work on a JVM. The operator may have given
// up one of them: which one is unknown to both.
type Turn struct {
	dir     *Directory
	process jvm.Process
	lock    *os.File
	// confirmed is the time of the lock as it was, and desired the desired file of the JVM; nil if
	// there was none.
	confirmed time.Time
	desired   fs.FileInfo
}

// Turn returns a place at the lock of a JVM. It fails with ReasonBusy if another helper has just
// removed the directory. The caller closes it.
func (dir *Directory) Turn(p jvm.Process) (*Turn, error) {
	lock, err := dir.OpenFile(LockFile(p), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, helperapi.Errorf(helperapi.ReasonBusy, "Another helper has just removed %s.", helperapi.AgentDirectory)
	}
	if err != nil {
		return nil, err
	}
	info, err := lock.Stat()
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Turn{dir, p, lock, info.ModTime(), dir.desired(p)}, nil
}

// Lock waits for the lock of a JVM, as Turn and Turn.Lock do.
func (dir *Directory) Lock(ctx context.Context, p jvm.Process) (*Turn, error) {
	turn, err := dir.Turn(p)
	if err != nil {
		return nil, err
	}
	if err := turn.Lock(ctx); err != nil {
		turn.Close()
		return nil, err
	}
	return turn, nil
}

// Close gives the place back, and with it the lock. The kernel does so if the helper dies.
func (t *Turn) Close() { t.lock.Close() }

// Confirm notes that the agent is as desired, so that the helpers that came to the lock before do not
// change it, though the desired file is the same.
func (t *Turn) Confirm() {
	now := time.Now()
	_ = t.dir.Chtimes(LockFile(t.process), now, now) // fails if another user owns it
}

// Lock waits for the lock. It fails with ReasonBusy if another helper holds it for too long, or has
// loaded, reconfigured, confirmed or stopped the agent since: only the operator that still waits for
// an answer will ask again.
func (t *Turn) Lock(ctx context.Context) error {
	if err := lockFile(ctx, t.lock); err != nil {
		return err
	}
	info, err := t.lock.Stat()
	if err != nil {
		return err
	}
	if !t.dir.stillNamed(t.lock, LockFile(t.process)) || !info.ModTime().Equal(t.confirmed) || !sameFile(t.desired, t.dir.desired(t.process)) {
		return helperapi.Errorf(helperapi.ReasonBusy, "Another helper changed or checked the agent of this JVM meanwhile; retrying.")
	}
	return nil
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

// desired returns the desired file of a JVM as it is; nil if there is none.
func (dir *Directory) desired(p jvm.Process) fs.FileInfo {
	info, err := dir.Lstat(DesiredFile(p))
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether a file is what it was. Each write renames another file to its name, whose
// inode differs from the one before; that of an earlier one may be used again, at another time.
func sameFile(before, now fs.FileInfo) bool {
	if before == nil || now == nil {
		return before == nil && now == nil
	}
	return os.SameFile(before, now) && before.ModTime().Equal(now.ModTime())
}

// stillNamed reports whether f is still the file with that name: unload removes the lock
// that it holds.
func (dir *Directory) stillNamed(f *os.File, name string) bool {
	held, failed := f.Stat()
	named, err := dir.Lstat(name)
	return failed == nil && err == nil && os.SameFile(held, named)
}

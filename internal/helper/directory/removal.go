//go:build linux

package directory

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// LeftoverAge is how long a file must be unchanged before it is removed as a leftover:
// another helper may be using it, possibly in a container that shares this /tmp, whose
// processes are not visible here.
const LeftoverAge = 10 * time.Minute

func (dir *Directory) unchanged(name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > LeftoverAge
}

// Sweep removes the leftovers of helpers that were killed, and the desired files and
// locks of processes that have exited. It keeps locks that are held. It is only valid for
// an agent directory whose PIDs are of the same namespace as here.
func (dir *Directory) Sweep() {
	for _, name := range dir.Names() {
		switch {
		case !dir.unchanged(name):
		case strings.HasPrefix(name, "."): // a temporary name
			_ = dir.Remove(name) // another helper may have removed it
		case isGone(name):
			dir.discard(name)
		}
	}
}

// isGone reports whether a file belongs to a process that has exited.
func isGone(name string) bool {
	stem, desired := strings.CutSuffix(name, DesiredSuffix)
	stem, lock := strings.CutSuffix(stem, lockSuffix)
	pid, start, found := strings.Cut(stem, "-")
	number, err := strconv.Atoi(pid)
	if !desired && !lock || !found || err != nil {
		return false
	}
	alive, err := jvm.StartTime(number)
	return err != nil || strconv.FormatUint(alive, 10) != start
}

// discard removes a file unless it is a lock that is held.
func (dir *Directory) discard(name string) {
	if path.Ext(name) == lockSuffix {
		f, err := dir.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !dir.stillNamed(f, name) {
			return
		}
	}
	_ = dir.Remove(name) // another helper may have removed it
}

// Prune removes the shared files that no desired file refers to, except those to keep:
// every edit of a configuration and every upgrade leaves some.
func (dir *Directory) Prune(keep ...string) {
	wanted, known := dir.referenced()
	if !known {
		return
	}
	keep = append(keep, wanted...)
	for _, name := range dir.Names() {
		if _, shared := helperapi.FileDigest(name); shared && !slices.Contains(keep, name) && dir.unchanged(name) {
			_ = dir.Remove(name) // another helper may have removed it
		}
	}
}

// Clear removes the files of one JVM, and the shared files if no other JVM has a desired
// file. It removes the lock last, because it is held until then, and then the agent
// directory if it is empty.
func (dir *Directory) Clear(p jvm.Process) error {
	desired := dir.ReadDesired(DesiredFile(p))
	shared := dir.LastAgent(p)
	for _, name := range dir.Names() {
		_, ours := helperapi.FileDigest(name)
		own := strings.HasPrefix(name, stemOf(p)+".")
		if name == LockFile(p) || !own && !(shared && ours) {
			continue
		}
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir.RemoveSecurity(desired)
	if err := dir.Remove(LockFile(p)); err != nil {
		return err
	}
	dir.removeIfEmpty()
	return nil
}

// LastAgent reports whether no other JVM has a desired file.
func (dir *Directory) LastAgent(p jvm.Process) bool {
	return !slices.ContainsFunc(dir.desiredFiles(), func(name string) bool { return !strings.HasPrefix(name, stemOf(p)+".") })
}

// ClearGone removes the files of a process that has exited, the leftovers, the shared
// files that no desired file refers to, except those to keep, and the agent directory if
// it is empty then. It reports whether any JVM has a desired file.
func (dir *Directory) ClearGone(target helperapi.Target, keep ...string) (agentsLeft bool) {
	gone := stem(target.PID, target.StartTime)
	desired := dir.ReadDesired(gone + DesiredSuffix)
	dir.discard(gone + DesiredSuffix)
	dir.RemoveSecurity(desired)
	dir.discard(gone + lockSuffix)
	dir.Sweep()
	agentsLeft = len(dir.desiredFiles()) > 0
	dir.Prune(keep...)
	dir.removeIfEmpty()
	return agentsLeft
}

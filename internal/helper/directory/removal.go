//go:build linux

package directory

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
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

// MaxSpares limits the shared files that no desired file refers to: however often a
// configuration is edited within LeftoverAge, the oldest ones are removed before. It is
// more than the helpers of the containers that share a /tmp stage at once.
const MaxSpares = 32

func (dir *Directory) unchanged(name string) bool {
	return time.Since(dir.modified(name)) > LeftoverAge
}

// modified returns when a file was last written or staged again; now, if it is
// unknown.
func (dir *Directory) modified(name string) time.Time {
	info, err := dir.Lstat(name)
	if err != nil {
		return time.Now()
	}
	return info.ModTime()
}

// Sweep removes the leftovers of helpers that were killed, and the desired files and
// locks of processes that have exited. It keeps locks that are held. It is only valid for
// an agent directory whose PIDs are of the same namespace as here.
func (dir *Directory) Sweep() {
	alive, err := dir.Container.Alive()
	if err != nil {
		return
	}
	for _, name := range dir.Names() {
		switch {
		case !dir.unchanged(name):
		case strings.HasPrefix(name, "."): // a temporary name
			_ = dir.Remove(name) // another helper may have removed it
		case isGone(name, alive):
			_ = dir.discard(name) // the next sweep tries again
		}
	}
}

// isGone reports whether a file belongs to a process that has exited.
func isGone(name string, alive func(pid int, startTime uint64) bool) bool {
	stem, desired := strings.CutSuffix(name, DesiredSuffix)
	stem, lock := strings.CutSuffix(stem, lockSuffix)
	pid, start, found := strings.Cut(stem, "-")
	number, err := strconv.Atoi(pid)
	if !desired && !lock || !found || err != nil {
		return false
	}
	started, err := strconv.ParseUint(start, 10, 64)
	return err != nil || !alive(number, started)
}

// discard removes a file, if it exists, unless it is a lock that is held.
func (dir *Directory) discard(name string) error {
	if path.Ext(name) == lockSuffix {
		f, err := dir.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return unlessGone(err)
		}
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !dir.stillNamed(f, name) {
			return nil
		}
	}
	return unlessGone(dir.Remove(name)) // another helper may have removed it
}

// unlessGone returns an error unless it says that a file does not exist.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Prune removes the shared files that no desired file refers to, except those to keep,
// and the others that were written within LeftoverAge, at most MaxSpares of them: every
// edit of a configuration and every upgrade leaves some.
func (dir *Directory) Prune(keep ...string) {
	dir.PruneSpares(keep...)
	for _, name := range dir.spares(keep) {
		if dir.unchanged(name) {
			_ = dir.Remove(name) // another helper may have removed it
		}
	}
}

// PruneSpares removes shared files that no desired file refers to, except those to keep, and
// MaxSpares others: configurations before jars, since checks and edits leave many, and the
// oldest first.
func (dir *Directory) PruneSpares(keep ...string) {
	spares := dir.spares(keep)
	for _, name := range spares[:max(0, len(spares)-MaxSpares)] {
		_ = dir.Remove(name) // another helper may have removed it
	}
}

// spares returns the shared files that no desired file refers to, except those to keep,
// configurations and then others, the oldest first; none if a desired file cannot be read, which may refer to any.
func (dir *Directory) spares(keep []string) []string {
	wanted, known := dir.referenced()
	if !known {
		return nil
	}
	keep = append(slices.Clone(keep), wanted...)
	spares := slices.DeleteFunc(dir.Names(), func(name string) bool {
		_, shared := helperapi.FileDigest(name)
		return !shared || slices.Contains(keep, name)
	})
	sorted := byAge{spares, make([]time.Time, len(spares))}
	for i, name := range spares {
		sorted.modified[i] = dir.modified(name)
	}
	sort.Sort(sorted)
	return spares
}

// byAge sorts configurations before other files, and each by their age. It is no argument
// of slices.SortFunc, which would make the helper larger by 8 KB.
type byAge struct {
	names    []string
	modified []time.Time
}

func (s byAge) Len() int { return len(s.names) }

func (s byAge) Less(i, j int) bool {
	if config := strings.HasPrefix(s.names[i], "config-"); config != strings.HasPrefix(s.names[j], "config-") {
		return config
	}
	return s.modified[i].Before(s.modified[j])
}

func (s byAge) Swap(i, j int) {
	s.names[i], s.names[j] = s.names[j], s.names[i]
	s.modified[i], s.modified[j] = s.modified[j], s.modified[i]
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
		if err := unlessGone(dir.Remove(name)); err != nil {
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
// it is empty then. It reports whether any JVM has a desired file. The error is the first one
// of the process' own files, which are all tried.
func (dir *Directory) ClearGone(target helperapi.Target, keep ...string) (agentsLeft bool, err error) {
	gone := stem(target.PID, target.StartTime)
	desired := dir.ReadDesired(gone + DesiredSuffix)
	err = dir.discard(gone + DesiredSuffix)
	dir.RemoveSecurity(desired)
	if failed := dir.discard(gone + lockSuffix); err == nil {
		err = failed
	}
	dir.Sweep()
	agentsLeft = len(dir.desiredFiles()) > 0
	dir.Prune(keep...)
	dir.removeIfEmpty()
	return agentsLeft, err
}

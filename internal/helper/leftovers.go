//go:build linux

package helper

import (
	"fmt"
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

// leftoverAge is how long a file must be unchanged before it is removed as a leftover:
// another helper may be using it, possibly in a container that shares this /tmp, whose
// processes are not visible here.
const leftoverAge = 10 * time.Minute

func (dir *directory) unchanged(name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > leftoverAge
}

// sweep removes the leftovers of helpers that were killed, and the desired files and
// locks of processes that have exited. It keeps locks that are held. It is only valid for
// an agent directory whose PIDs are of the same namespace as here.
func (dir *directory) sweep() {
	for _, name := range dir.names() {
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
	stem, desired := strings.CutSuffix(name, desiredSuffix)
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
func (dir *directory) discard(name string) {
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

// prune removes the shared files that no desired file refers to, except those to keep:
// every edit of a configuration and every upgrade leaves some.
func (dir *directory) prune(keep ...string) {
	wanted, known := dir.referenced()
	if !known {
		return
	}
	keep = append(keep, wanted...)
	for _, name := range dir.names() {
		if _, shared := helperapi.FileDigest(name); shared && !slices.Contains(keep, name) && dir.unchanged(name) {
			_ = dir.Remove(name) // another helper may have removed it
		}
	}
}

// referenced returns the shared files that desired files refer to. known is false if one
// of the desired files cannot be read.
func (dir *directory) referenced() (files []string, known bool) {
	for _, name := range dir.names() {
		if path.Ext(name) != desiredSuffix {
			continue
		}
		desired := dir.readPairs(name)
		if desired == nil {
			return nil, false
		}
		files = append(files, path.Base(desired.Get("implementation")), path.Base(desired.Get("config")), path.Base(desired.Get("security")))
	}
	return files, true
}

// removeIfEmpty removes the agent directory if it is empty. Any file keeps it, including
// one just written by a concurrent helper or by another container that shares this /tmp.
// A helper that has the directory open, but has not written to it yet, creates it again.
func (dir *directory) removeIfEmpty() {
	opened, err := dir.Open(".")
	if err != nil {
		return
	}
	defer opened.Close()
	_ = syscall.Rmdir(fmt.Sprintf("/proc/self/fd/%d/../%s", opened.Fd(), path.Base(helperapi.AgentDirectory))) // fails unless it is empty
}

// names returns all entries of the agent directory, or none: with a partial list, files
// that the missing desired files refer to would be removed as leftovers.
func (dir *directory) names() []string {
	opened, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer opened.Close()
	names, err := opened.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}

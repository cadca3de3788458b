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

// settled is how long a file must have been left alone to be removed as a leftover:
// another helper may be at work on it, also one of a container that shares this
// /tmp, whose processes cannot be seen from here.
const settled = 10 * time.Minute

func (h *home) settled(name string) bool {
	info, err := h.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > settled
}

// sweep removes the leftovers of helpers that were killed, and the desired files
// and locks of processes that are gone. A lock that is held stays. Only for a
// Home in which PIDs mean the same as here.
func (h *home) sweep() {
	for _, name := range h.names() {
		switch {
		case !h.settled(name):
		case strings.HasPrefix(name, "."): // a temporary name
			_ = h.Remove(name) // another helper may have been faster
		case isGone(name):
			h.discard(name)
		}
	}
}

// isGone reports whether a file belongs to a process that is gone.
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

// discard removes a file, if it is not a lock that is held.
func (h *home) discard(name string) {
	if path.Ext(name) == lockSuffix {
		f, err := h.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !h.stillNamed(f, name) {
			return
		}
	}
	_ = h.Remove(name) // another helper may have been faster
}

// prune removes the shared files that no desired file names, but those to keep:
// every edit of a configuration and every upgrade leaves some.
func (h *home) prune(keep ...string) {
	names := h.names()
	for _, name := range names {
		if path.Ext(name) != desiredSuffix {
			continue
		}
		desired := h.readPairs(name)
		if desired == nil {
			return // what it names cannot be told
		}
		keep = append(keep, path.Base(desired.Get("implementation")), path.Base(desired.Get("config")))
	}
	for _, name := range names {
		if _, shared := helperapi.FileDigest(name); shared && !slices.Contains(keep, name) && h.settled(name) {
			_ = h.Remove(name) // another helper may have been faster
		}
	}
}

// abandon removes Home itself once nothing is left in it. Whatever lies there keeps
// it, also what came a moment ago from a helper beside, or from another container
// that shares this /tmp; one that has it open, and nothing in it yet, makes it anew.
func (h *home) abandon() {
	dir, err := h.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	_ = syscall.Rmdir(fmt.Sprintf("/proc/self/fd/%d/../%s", dir.Fd(), path.Base(helperapi.Home))) // only when empty
}

// names lists all entries of Home, or none: who sees only some of the desired
// files would take what the others name for leftovers.
func (h *home) names() []string {
	dir, err := h.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}

//go:build linux

package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// home is Home, opened: every name is looked up in the directory that was
// checked, and no link leads out of it.
type home struct{ *os.Root }

// openHome opens Home in the /tmp given, and creates it if it is told to;
// fs.ErrNotExist otherwise. Its owner must be root, this process, or one of
// those named, and nobody else may write to it: what lies there is loaded into
// JVMs and executed.
func openHome(tmp *os.Root, create bool, owners ...int) (*home, error) {
	name := path.Base(Home)
	if create {
		switch err := tmp.Mkdir(name, 0o755); {
		case err == nil:
			if err := tmp.Chmod(name, 0o755); err != nil { // whatever the umask
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
	entry, err := tmp.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !entry.IsDir() {
		return nil, failf(ReasonHomeNotTrusted, "%s is not a directory; remove it.", Home)
	}
	root, err := tmp.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	h := &home{root}
	if err := h.check(entry, owners); err != nil {
		root.Close()
		return nil, err
	}
	return h, nil
}

// check looks at the directory that was opened, not at its name.
func (h *home) check(entry fs.FileInfo, owners []int) error {
	info, err := h.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(info, entry) {
		return failf(ReasonHomeNotTrusted, "%s was replaced while it was opened.", Home)
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner != 0 && owner != os.Geteuid() && !slices.Contains(owners, owner) {
		return failf(ReasonHomeNotTrusted, "%s belongs to user %d; remove it.", Home, owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return failf(ReasonHomeNotTrusted, "%s is writable by others (%v); remove it.", Home, info.Mode())
	}
	return nil
}

// digest returns the SHA-256 of a regular file, in lower-case hexadecimal.
func (h *home) digest(name string) (sum string, size int64, err error) {
	info, err := h.Lstat(name)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, failf(ReasonHomeNotTrusted, "%s is not a regular file; remove it.", path.Join(Home, name))
	}
	f, err := h.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// has tells whether a file lies there whole.
func (h *home) has(file File) bool {
	sum, size, err := h.digest(file.Name)
	return err == nil && sum == file.SHA256 && size == file.Size
}

// write creates or replaces a file: all of it, or nothing. verify sees the
// content as it comes by, and is asked at the end whether to keep it. Durability
// is of no concern: /tmp does not survive the container.
func (h *home) write(name string, mode fs.FileMode, content io.Reader, verify func(size int64, sum string) error) error {
	temporary := temporaryName(name)
	f, err := h.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, hash), content)
	if err == nil {
		err = verify(size, hex.EncodeToString(hash.Sum(nil)))
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = h.Rename(temporary, name)
	}
	if err != nil {
		_ = h.Remove(temporary) // the error that counts is known
	}
	return err
}

// writePairs replaces a desired file.
func (h *home) writePairs(name string, p pairs) error {
	return h.write(name, 0o644, strings.NewReader(p.Encode()), func(int64, string) error { return nil })
}

// readPairs reads a desired file; there is nothing in one that is missing or
// that cannot be read.
func (h *home) readPairs(name string) pairs {
	const most = 16 << 10
	f, err := h.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	p, err := url.ParseQuery(strings.TrimSpace(string(data)))
	if err != nil {
		return nil
	}
	return p
}

const (
	desiredSuffix   = ".desired"
	lockSuffix      = ".lock"
	temporarySuffix = ".tmp"
)

// jvmName is what the names of a JVM's files begin with: the PID as the JVM
// sees it, so that it is the same for a helper in the container and outside.
func jvmName(p jvm.Process) string {
	return fmt.Sprintf("%d-%d", p.NamespacePID, p.StartTime)
}

// temporaryName ends in the helper that writes the file: no other one takes it.
func temporaryName(name string) string {
	start, _ := jvm.StartTime(os.Getpid())
	return fmt.Sprintf(".%s.%d-%d%s", name, os.Getpid(), start, temporarySuffix)
}

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

// isGone tells whether a file belongs to a process that is gone.
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
		if _, shared := digestOf(name); shared && !slices.Contains(keep, name) && h.settled(name) {
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
	_ = syscall.Rmdir(fmt.Sprintf("/proc/self/fd/%d/../%s", dir.Fd(), path.Base(Home))) // only when empty
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

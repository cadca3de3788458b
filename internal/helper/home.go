//go:build linux

package helper

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
	"strings"
	"sync"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// home is Home, opened: every name is looked up in the directory that was
// checked, and no link leads out of it.
type home struct {
	*os.Root
	// owners are the users whose files are obeyed.
	owners []int
}

// openHome opens Home in the /tmp given, and creates it if it is told to;
// fs.ErrNotExist otherwise. Its owner must be root, this process, or one of
// those named, and nobody else may write to it: what lies there is loaded into
// JVMs and executed.
func openHome(tmp *os.Root, create bool, owners ...int) (*home, error) {
	name := path.Base(helperapi.Home)
	if create {
		if err := makeHome(tmp, name); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	entry, err := tmp.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !entry.IsDir() {
		return nil, helperapi.Errorf(helperapi.ReasonHomeNotTrusted, "%s is not a directory; remove it.", helperapi.Home)
	}
	root, err := tmp.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	h := &home{root, append([]int{0, os.Geteuid()}, owners...)}
	if err := h.check(entry); err != nil {
		root.Close()
		return nil, err
	}
	return h, nil
}

var umask sync.Mutex

// makeHome makes a directory that all may read, whatever the umask. It does not change
// the mode afterwards: by then, the name may be another directory's.
func makeHome(tmp *os.Root, name string) error {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o022))
	return tmp.Mkdir(name, 0o755)
}

// check looks at the directory that was opened, not at its name.
func (h *home) check(entry fs.FileInfo) error {
	info, err := h.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(info, entry) {
		return helperapi.Errorf(helperapi.ReasonHomeNotTrusted, "%s was replaced while it was opened.", helperapi.Home)
	}
	return h.trust(".", info)
}

// inPlace reports whether the process still sees this directory under its name.
func (h *home) inPlace(p jvm.Process) bool {
	tmp, err := p.OpenTmp()
	if err != nil {
		return false
	}
	defer tmp.Close()
	named, err := tmp.Lstat(path.Base(helperapi.Home))
	if err != nil {
		return false
	}
	opened, err := h.Stat(".")
	return err == nil && os.SameFile(named, opened)
}

// trust refuses what somebody may have written, or may write, whose files are not
// obeyed.
func (h *home) trust(name string, info fs.FileInfo) error {
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); !slices.Contains(h.owners, owner) {
		return helperapi.Errorf(helperapi.ReasonHomeNotTrusted, "%s belongs to user %d; remove it.", path.Join(helperapi.Home, name), owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return helperapi.Errorf(helperapi.ReasonHomeNotTrusted, "%s is writable by others (%v); remove it.", path.Join(helperapi.Home, name), info.Mode())
	}
	return nil
}

// read opens a regular file that may be obeyed: it looks at the owner of the file
// that it opened, not of its name.
func (h *home) read(name string) (*os.File, error) {
	info, err := h.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, helperapi.Errorf(helperapi.ReasonHomeNotTrusted, "%s is not a regular file; remove it.", path.Join(helperapi.Home, name))
	}
	f, err := h.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = h.trust(name, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// digest returns the SHA-256 of a file that may be obeyed, in lower-case
// hexadecimal.
func (h *home) digest(name string) (sum string, size int64, err error) {
	f, err := h.read(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// has reports whether a file lies there whole, and may be obeyed.
func (h *home) has(file helperapi.File) bool {
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

// readPairs reads a desired file; there is nothing in one that is missing, that
// cannot be read, or that is not to be obeyed.
func (h *home) readPairs(name string) pairs {
	const most = 16 << 10
	f, err := h.read(name)
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

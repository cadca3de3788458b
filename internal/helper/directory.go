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

// directory is helperapi.AgentDirectory, opened: every name is looked up in the directory that was
// checked, and no link leads out of it.
type directory struct {
	*os.Root
	// owners are the users whose files are obeyed.
	owners []int
	// jvm is the one that the files are for; nil where they are for any.
	jvm *jvm.Process
}

// openDirectory opens the agent directory in the /tmp given, and creates it if it shall;
// fs.ErrNotExist otherwise. Its owner must be root, this process, or that of the JVM
// that it is for, if there is one, and nobody else may write to it: what lies there is loaded into
// JVMs and executed.
func openDirectory(tmp *os.Root, create bool, reader *jvm.Process) (*directory, error) {
	name := path.Base(helperapi.AgentDirectory)
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
		return nil, helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is not a directory; remove it.", helperapi.AgentDirectory)
	}
	root, err := tmp.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	dir := &directory{Root: root, owners: []int{0, os.Geteuid()}, jvm: reader}
	if reader != nil {
		dir.owners = append(dir.owners, reader.UID)
	}
	if err := dir.check(entry); err != nil {
		root.Close()
		return nil, err
	}
	return dir, nil
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
func (dir *directory) check(entry fs.FileInfo) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(info, entry) {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s was replaced while it was opened.", helperapi.AgentDirectory)
	}
	return dir.trust(".", info)
}

// inPlace reports whether the process still sees this directory under its name.
func (dir *directory) inPlace(p jvm.Process) bool {
	tmp, err := p.OpenTmp()
	if err != nil {
		return false
	}
	defer tmp.Close()
	named, err := tmp.Lstat(path.Base(helperapi.AgentDirectory))
	if err != nil {
		return false
	}
	opened, err := dir.Stat(".")
	return err == nil && os.SameFile(named, opened)
}

// trust refuses what somebody may have written, or may write, whose files are not
// obeyed.
func (dir *directory) trust(name string, info fs.FileInfo) error {
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); !slices.Contains(dir.owners, owner) {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s belongs to user %d; remove it.", path.Join(helperapi.AgentDirectory, name), owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is writable by others (%v); remove it.", path.Join(helperapi.AgentDirectory, name), info.Mode())
	}
	if isSecurity(name) {
		return dir.trustSecurity(name, info)
	}
	return nil
}

// read opens a regular file that may be obeyed: it looks at the owner of the file
// that it opened, not of its name.
func (dir *directory) read(name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is not a regular file; remove it.", path.Join(helperapi.AgentDirectory, name))
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = dir.trust(name, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// digest returns the SHA-256 of a file that may be obeyed, in lower-case
// hexadecimal; of one that is larger than any of ours, that of its beginning.
func (dir *directory) digest(name string) (sum string, size int64, err error) {
	f, err := dir.read(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, io.LimitReader(f, maxFileSize+1))
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// has reports whether a file lies there whole, and may be obeyed. One of another size is
// not read: it may have terabytes.
func (dir *directory) has(file helperapi.File) bool {
	if info, err := dir.Lstat(file.Name); err != nil || info.Size() != file.Size {
		return false
	}
	sum, size, err := dir.digest(file.Name)
	return err == nil && sum == file.SHA256 && size == file.Size
}

// write creates or replaces a file: all of it, or nothing. verify sees the
// content as it comes by, and is asked at the end whether to keep it. Durability
// is of no concern: /tmp does not survive the container.
func (dir *directory) write(name string, mode fs.FileMode, content io.Reader, verify func(size int64, sum string) error) error {
	temporary := temporaryName(name)
	f, err := dir.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
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
	if err == nil && isSecurity(name) {
		err = dir.give(f)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = dir.replace(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary) // the error that counts is known
	}
	return err
}

// replace gives a file its final name.
func (dir *directory) replace(temporary, name string) error {
	err := dir.Rename(temporary, name)
	if info, failed := dir.Lstat(name); err != nil && failed == nil && info.IsDir() {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is a directory; remove it.", path.Join(helperapi.AgentDirectory, name))
	}
	return err
}

// writePairs replaces a desired file.
func (dir *directory) writePairs(name string, p pairs) error {
	return dir.write(name, 0o644, strings.NewReader(p.Encode()), func(int64, string) error { return nil })
}

// readPairs reads a desired file; there is nothing in one that is missing, that
// cannot be read, or that is not to be obeyed.
func (dir *directory) readPairs(name string) pairs {
	const most = 16 << 10
	f, err := dir.read(name)
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
	start, _ := jvm.StartTime(os.Getpid()) // who writes here found the JVM by /proc, so it is there
	return fmt.Sprintf(".%s.%d-%d%s", name, os.Getpid(), start, temporarySuffix)
}

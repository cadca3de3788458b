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

// directory is an open helperapi.AgentDirectory: every name is looked up in the directory
// that was checked, and no link leads outside.
type directory struct {
	*os.Root
	// owners are the users whose files are trusted.
	owners []int
	// jvm is the JVM that the files are for; nil if they are for any.
	jvm *jvm.Process
}

// openDirectory opens the agent directory in tmp. It creates a missing one if create is
// set, and otherwise returns fs.ErrNotExist. The owner must be root, this process' user,
// or the user of the JVM that reads it, if any, and no one else may write to it, because
// its files are loaded into JVMs and executed.
func openDirectory(tmp *os.Root, create bool, reader *jvm.Process) (*directory, error) {
	name := path.Base(helperapi.AgentDirectory)
	if create {
		if err := createDirectory(tmp, name); err != nil && !errors.Is(err, fs.ErrExist) {
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

// createDirectory creates a directory that everyone may read, regardless of the umask. It
// does not change the mode afterwards, because the name may refer to another directory by
// then.
func createDirectory(tmp *os.Root, name string) error {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o022))
	return tmp.Mkdir(name, 0o755)
}

// check verifies the directory that was opened, not the one that now has its name.
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

// inPlace reports whether the path still refers to this directory for the process.
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

// trust refuses a file that an untrusted user owns, or that others may write.
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

// read opens a regular, trusted file. It checks the owner of the opened file, not of the
// name.
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

// digest returns the SHA-256 of a trusted file, in lower-case hexadecimal; if it exceeds
// the maximum size, only that of its beginning.
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

// has reports whether a complete, trusted copy of the file exists. It does not read a
// file of another size, which may have terabytes.
func (dir *directory) has(file helperapi.File) bool {
	if info, err := dir.Lstat(file.Name); err != nil || info.Size() != file.Size {
		return false
	}
	sum, size, err := dir.digest(file.Name)
	return err == nil && sum == file.SHA256 && size == file.Size
}

// write creates or replaces a file atomically. verify is called with size and digest of
// the content before the file gets its name. The file is not synced: /tmp does not
// outlive the container.
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
		err = dir.chown(f)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = dir.replace(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary) // the original error is returned
	}
	return err
}

// replace renames a temporary file to its final name.
func (dir *directory) replace(temporary, name string) error {
	err := dir.Rename(temporary, name)
	if info, failed := dir.Lstat(name); err != nil && failed == nil && info.IsDir() {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is a directory; remove it.", path.Join(helperapi.AgentDirectory, name))
	}
	return err
}

// writePairs writes a desired file.
func (dir *directory) writePairs(name string, p pairs) error {
	return dir.write(name, 0o644, strings.NewReader(p.Encode()), func(int64, string) error { return nil })
}

// readPairs reads a desired file. It returns nil if the file is missing, unreadable or
// not trusted.
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

// jvmName returns the prefix of the names of a JVM's files: the PID as the JVM sees it,
// so that it is the same for helpers inside and outside the container.
func jvmName(p jvm.Process) string {
	return fmt.Sprintf("%d-%d", p.NamespacePID, p.StartTime)
}

// temporaryName ends with the process of this helper, so that no other helper uses it.
func temporaryName(name string) string {
	start, _ := jvm.StartTime(os.Getpid()) // /proc is readable, because the JVM was found in it
	return fmt.Sprintf(".%s.%d-%d%s", name, os.Getpid(), start, temporarySuffix)
}

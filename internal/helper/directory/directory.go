//go:build linux

// Package directory is the agent directory, in which helpers and agents exchange files:
// who may write there, which files belong to a JVM, and which are leftovers.
package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// Directory is an open helperapi.AgentDirectory: every name is looked up in the directory
// that was checked, and no link leads outside. It is safe for concurrent use, also by
// several processes; what must not run concurrently for one JVM holds its Lock.
type Directory struct {
	*os.Root
	trust
	// Container is that of the processes which files are named after; empty for those that
	// this process sees by the same IDs.
	Container jvm.Container
}

// Open opens the agent directory in tmp. It creates a missing one if create is set, and
// otherwise returns fs.ErrNotExist. The owner must be root (of the JVM that reads it, if
// any), this process' user, or the user of that JVM, and no one else may write to it, because its
// files are loaded into JVMs and executed; otherwise it fails with
// ReasonAgentDirectoryNotTrusted.
func Open(tmp *os.Root, create bool, reader *jvm.Process) (*Directory, error) {
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
	dir := &Directory{Root: root, trust: trust{[]int{os.Geteuid()}, reader}}
	if reader != nil {
		dir.owners = append(dir.owners, reader.UID, reader.RootUID())
	}
	if reader == nil || reader.IsRoot(0) {
		dir.owners = append(dir.owners, 0)
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
func (dir *Directory) check(entry fs.FileInfo) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(info, entry) {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s was replaced while it was opened.", helperapi.AgentDirectory)
	}
	return dir.verify(".", info)
}

// InPlace reports whether the path still refers to this directory for the process.
func (dir *Directory) InPlace(p jvm.Process) bool {
	tmp, err := p.OpenTmp()
	if err != nil {
		return false
	}
	defer tmp.Close()
	named, failed := tmp.Lstat(path.Base(helperapi.AgentDirectory))
	opened, err := dir.Stat(".")
	return failed == nil && err == nil && os.SameFile(named, opened)
}

// removeIfEmpty removes the agent directory if it is empty. Any file keeps it, including
// one just written by a concurrent helper or by another container that shares this /tmp.
// A helper that has the directory open, but has not written to it yet, creates it again.
func (dir *Directory) removeIfEmpty() {
	opened, err := dir.Open(".")
	if err != nil {
		return
	}
	defer opened.Close()
	_ = syscall.Rmdir(fmt.Sprintf("/proc/self/fd/%d/../%s", opened.Fd(), path.Base(helperapi.AgentDirectory))) // fails unless it is empty
}

// Names returns all entries of the agent directory, or none: with a partial list, files
// that the missing desired files refer to would be removed as leftovers.
func (dir *Directory) Names() []string {
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

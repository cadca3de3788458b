//go:build linux

package jvm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// openRoot opens a directory link of the process, root or cwd. Inside an
// os.Root, no symbolic link that the process made leads out of it.
func (p Process) openRoot(link string) (*os.Root, error) {
	return os.OpenRoot(procPath(p.PID, link))
}

// readRegular reads a regular file: a FIFO or device would block.
func readRegular(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	data, err := readBounded(f)
	return string(data), err
}

// OpenTmp opens /tmp as the JVM sees it, where HotSpot has its socket whatever
// TMPDIR says. The caller closes it. As long as it is open it stays that
// directory, also when the JVM exits.
func (p Process) OpenTmp() (*os.Root, error) {
	var tmp *os.Root
	err := As(p.UID, p.GID, func() (err error) {
		if p.sharesFiles() { // where /tmp may be a link that does not leave our root
			tmp, err = os.OpenRoot("/tmp")
		} else {
			tmp, err = p.openTmpInRoot()
		}
		return err
	})
	if err != nil {
		if gone := p.verify(); gone != nil {
			return nil, gone
		}
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errorf(TmpNotWritable, "There is no /tmp. %s", MountTmp)
		}
		return nil, errorf(TmpNotWritable, "/tmp of process %d cannot be opened: %v. %s", p.PID, err, MountTmp)
	}
	return tmp, nil
}

// openTmpInRoot opens the process' /tmp from outside. An absolute link there, as of
// images with /tmp -> /var/tmp, leads where it does for the process; none leads out
// of its root, nor through another process' (openat2(2), RESOLVE_IN_ROOT and
// RESOLVE_NO_MAGICLINKS). A kernel before 5.6, or a filter, has no openat2: then an
// absolute link is refused.
func (p Process) openTmpInRoot() (*os.Root, error) {
	root, err := p.openRoot("root")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	top, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer top.Close()
	tmp, err := openInRoot(top, "tmp")
	if errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EPERM) {
		return root.OpenRoot("tmp")
	}
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", tmp.Fd()))
}

// OpenFiles lists the paths of the files that the process has open, as it sees
// them; those deleted since without the " (deleted)" that proc(5) adds.
func (p Process) OpenFiles() ([]string, error) {
	var names []string
	err := p.eachOpenFile(func(_, name string) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// OpenFile is a file that a process has open, looked at through the process' own
// descriptor: it is the one that the process reads, whatever lies under its name
// by now.
type OpenFile struct {
	// Name is its path, as in OpenFiles.
	Name string
	// Mode is its type and permissions.
	Mode fs.FileMode
	// UID is its owner, in this process' user namespace.
	UID int
	// SHA256 is the digest of its content in lower-case hexadecimal; empty if it
	// is not a regular file, too large, or not readable by the process' user.
	SHA256 string
}

// Inspect looks at the files that the process has open under the names that
// match. Contents of more than limit bytes are not read.
func (p Process) Inspect(match func(name string) bool, limit int64) ([]OpenFile, error) {
	var files []OpenFile
	err := p.eachOpenFile(func(fd, name string) error {
		if !match(name) {
			return nil
		}
		file, err := inspect(fd, name, limit)
		if errors.Is(err, fs.ErrNotExist) { // closed meanwhile
			return nil
		}
		files = append(files, file)
		return err
	})
	return files, err
}

// inspect looks at a file by a link that proc_pid_fd(5) has to it. What it says
// and what it reads is the same file, also if the process opens another one there.
func inspect(link, name string, limit int64) (OpenFile, error) {
	info, err := os.Stat(link)
	if err != nil || !info.Mode().IsRegular() { // a device may do something when it is opened
		return openFile(name, info), err
	}
	f, err := os.OpenFile(link, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) { // the process has given up the right since
		return openFile(name, info), nil
	}
	if err != nil {
		return OpenFile{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return openFile(name, info), err
	}
	hash := sha256.New()
	size, err := io.Copy(hash, io.LimitReader(f, limit+1))
	file := openFile(name, info)
	if size <= limit {
		file.SHA256 = hex.EncodeToString(hash.Sum(nil))
	}
	return file, err
}

func openFile(name string, info fs.FileInfo) OpenFile {
	if info == nil {
		return OpenFile{Name: name}
	}
	return OpenFile{Name: name, Mode: info.Mode(), UID: int(info.Sys().(*syscall.Stat_t).Uid)}
}

// eachOpenFile visits the files that the process has open, as its user: the path
// of the link in proc_pid_fd(5) by which each can be opened, and its name.
func (p Process) eachOpenFile(visit func(link, name string) error) error {
	err := As(p.UID, p.GID, func() error {
		dir, err := os.Open(procPath(p.PID, "fd"))
		if err != nil {
			return err
		}
		defer dir.Close()
		for {
			fds, err := dir.Readdirnames(256)
			for _, fd := range fds {
				link := procPath(p.PID, "fd/"+fd)
				name, err := os.Readlink(link)
				if errors.Is(err, fs.ErrNotExist) { // closed meanwhile
					continue
				}
				if err != nil {
					return err
				}
				if err := visit(link, strings.TrimSuffix(name, " (deleted)")); err != nil {
					return err
				}
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if gone := p.verify(); gone != nil {
		return gone
	}
	if err != nil {
		return asError(err)
	}
	return nil
}

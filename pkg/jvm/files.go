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

// openRoot opens the process' root or cwd link. In an os.Root, no symbolic link that the
// process created leads outside.
func (p Process) openRoot(link string) (*os.Root, error) {
	return os.OpenRoot(procPath(p.PID, link))
}

// readRegular reads a regular file. It refuses others: a FIFO or device would block.
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

// OpenTmp opens /tmp as the JVM sees it, where HotSpot creates its socket regardless of
// TMPDIR. The caller closes it. The handle keeps referring to the same directory, even
// after the JVM exits.
func (p Process) OpenTmp() (*os.Root, error) {
	var tmp *os.Root
	err := p.As(func() (err error) {
		if p.sharesFiles() { // here, /tmp may be a link within our root
			tmp, err = os.OpenRoot("/tmp")
		} else {
			tmp, err = p.openTmpInRoot()
		}
		return err
	})
	// Also after a success: another process, of another container, may have got the PID.
	if gone := p.verify(); gone != nil {
		if err == nil {
			tmp.Close()
		}
		return nil, gone
	}
	if err != nil {
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

// openTmpInRoot opens the /tmp of a process in another mount namespace. An absolute link
// there, as in images with /tmp -> /var/tmp, resolves as for the process; no link leads
// outside its root or through another process' root (openat2(2), RESOLVE_IN_ROOT and
// RESOLVE_NO_MAGICLINKS). Without openat2 (kernels before 5.6, or a seccomp filter), an
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

// OpenFiles returns the paths of the process' open files, as the process sees them. For
// deleted files, the " (deleted)" suffix of proc(5) is removed.
func (p Process) OpenFiles() ([]string, error) {
	var names []string
	err := p.eachOpenFile(func(_, name string) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// OpenFile is an open file of a process, inspected through the process' own descriptor:
// it is the file that the process reads, even if its name refers to another one now.
type OpenFile struct {
	// Name is the path, as in OpenFiles.
	Name string
	// Mode is the file's type and permissions.
	Mode fs.FileMode
	// UID is the owner, in this process' user namespace.
	UID int
	// SHA256 is the digest of the content in lower-case hexadecimal; empty if the file is
	// not regular, too large, or not readable by the process' user.
	SHA256 string
}

// Inspect returns the process' open files whose names match. It reads no content of more
// than limit bytes.
func (p Process) Inspect(match func(name string) bool, limit int64) ([]OpenFile, error) {
	var files []OpenFile
	err := p.eachOpenFile(func(fd, name string) error {
		if !match(name) {
			return nil
		}
		file, err := inspect(fd, name, limit)
		if errors.Is(err, fs.ErrNotExist) { // closed in the meantime
			return nil
		}
		files = append(files, file)
		return err
	})
	return files, err
}

// inspect describes a file through its link in proc_pid_fd(5). Metadata and digest are of
// the same file, even if the process reuses the descriptor.
func inspect(link, name string, limit int64) (OpenFile, error) {
	info, err := os.Stat(link)
	if err != nil || !info.Mode().IsRegular() { // opening a device may have side effects
		return openFile(name, info), err
	}
	f, err := os.OpenFile(link, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) { // the process has dropped the privilege since it opened the file
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

// eachOpenFile visits the process' open files, as its user: link is the path in
// proc_pid_fd(5) through which the file can be opened, and name its name.
func (p Process) eachOpenFile(visit func(link, name string) error) error {
	err := p.As(func() error {
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
				if errors.Is(err, fs.ErrNotExist) { // closed in the meantime
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

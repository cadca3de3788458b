//go:build linux

package jvm

import (
	"errors"
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
	err := As(p.UID, p.GID, func() error {
		if p.sharesFiles() { // where /tmp may be a link that does not leave our root
			var err error
			tmp, err = os.OpenRoot("/tmp")
			return err
		}
		root, err := p.openRoot("root")
		if err != nil {
			return err
		}
		defer root.Close()
		tmp, err = root.OpenRoot("tmp")
		return err
	})
	if err != nil {
		if gone := p.verify(); gone != nil {
			return nil, gone
		}
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		return nil, errorf(TmpNotWritable, "/tmp of process %d cannot be opened: %v.", p.PID, err)
	}
	return tmp, nil
}

// OpenFiles lists the paths of the files that the process has open, as it sees
// them; those deleted since without the " (deleted)" that proc(5) adds.
func (p Process) OpenFiles() ([]string, error) {
	var names []string
	err := As(p.UID, p.GID, func() error {
		dir, err := os.Open(procPath(p.PID, "fd"))
		if err != nil {
			return err
		}
		defer dir.Close()
		for {
			fds, err := dir.Readdirnames(256)
			for _, fd := range fds {
				name, err := os.Readlink(procPath(p.PID, "fd/"+fd))
				if errors.Is(err, fs.ErrNotExist) { // closed meanwhile
					continue
				}
				if err != nil {
					return err
				}
				names = append(names, strings.TrimSuffix(name, " (deleted)"))
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
		return nil, gone
	}
	if err != nil {
		return nil, asError(err)
	}
	return names, nil
}

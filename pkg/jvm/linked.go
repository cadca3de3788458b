//go:build linux

package jvm

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jimage"
)

// linkedOptions returns the options that jlink wrote into the runtime's lib/modules. A
// runtime without that file has none: JDK 8, or a JDK build that was not linked.
func (p Process) linkedOptions(root *os.Root, library string) (string, error) {
	home := path.Dir(path.Dir(path.Dir(library))) // of lib/server/libjvm.so
	f, err := p.openModules(root, path.Join(home, "lib/modules"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	return jimage.VMOptions(f)
}

// openModules opens the file that the JVM itself has open, even if an upgrade has
// replaced it. A JVM that is just starting may not have opened it yet.
func (p Process) openModules(root *os.Root, name string) (*os.File, error) {
	dir, err := os.Open(procPath(p.PID, "fd"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for {
		fds, err := dir.Readdirnames(256)
		if err != nil { // all descriptors were read
			return root.OpenFile(strings.TrimPrefix(name, "/"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		}
		for _, fd := range fds {
			link := procPath(p.PID, "fd/"+fd)
			if target, err := os.Readlink(link); err == nil && strings.TrimSuffix(target, " (deleted)") == name {
				return os.OpenFile(link, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			}
		}
	}
}

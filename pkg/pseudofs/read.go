//go:build unix

// Package pseudofs reads files that the kernel makes when they are read: those of proc(5) and
// cgroups(7).
package pseudofs

import (
	"io/fs"
	"syscall"
)

// page is how much the kernel offers of such a file at once, at least (seq_read_iter in
// fs/seq_file.c).
const page = 4096

// ReadFile returns the content of a file, at most limit bytes of it. Its error is an
// *fs.PathError. It is safe for concurrent use.
//
// Unlike os.ReadFile, it neither asks for the size, which is 0 for such files, nor prepares
// the descriptor for polling, which they do not support: a third of the system calls is left.
// A node agent reads one of each process of its node.
func ReadFile(name string, limit int) ([]byte, error) {
	return read(name, limit, func(int) bool { return false })
}

// ReadRecords is ReadFile for a file of records of up to longest bytes each, of which the
// kernel offers as many as fit: where another one would have fitted, there is none. To find
// that out by a read that returns nothing costs as much as all of them where they are in a
// large table, such as the kernel's sockets for proc_pid_net_tcp(5).
func ReadRecords(name string, longest, limit int) ([]byte, error) {
	return read(name, limit, func(n int) bool { return n < page-longest })
}

// read returns the content of a file, up to what last reports to be its last part, by its size.
func read(name string, limit int, last func(n int) bool) ([]byte, error) {
	fd, err := open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written
	var content []byte
	var part [page]byte
	for len(content) < limit {
		n, err := syscall.Read(fd, part[:min(page, limit-len(content))])
		switch {
		case err == syscall.EINTR: // Go's runtime stops threads by signals
		case err != nil:
			return content, &fs.PathError{Op: "read", Path: name, Err: err}
		default:
			content = append(content, part[:n]...)
			if n == 0 || last(n) {
				return content, nil
			}
		}
	}
	return content, nil
}

func open(name string) (fd int, err error) {
	for {
		fd, err = syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

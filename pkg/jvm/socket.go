//go:build linux

package jvm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// errNotListening: the attach socket does not exist, or nothing listens on it.
var errNotListening = errors.New("the JVM's attach listener is not running")

// socketName returns the name of HotSpot's attach socket in /tmp.
func (p Process) socketName() string { return fmt.Sprintf(".java_pid%d", p.NamespacePID) }

// connect connects to the attach socket, which must be a socket that the JVM's user owns
// and the JVM itself listens on. It follows no link, and opens the socket's inode before
// checking it, so that the file cannot be replaced in between.
func (p Process) connect() (conn *os.File, err error) {
	err = p.As(func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		socket, err := tmp.OpenFile(p.socketName(), oPath|syscall.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return errNotListening
		}
		if err != nil {
			return errorf(AttachFailed, "The attach socket cannot be opened: %v.", err)
		}
		defer socket.Close()
		info, err := socket.Stat()
		if err != nil {
			return err
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; info.Mode().Type() != fs.ModeSocket || int(owner) != p.UID {
			return errorf(AttachFailed, "/tmp/%s is not a socket of the JVM's user %d.", p.socketName(), p.UID)
		}
		conn, err = dial(fmt.Sprintf("/proc/self/fd/%d", socket.Fd()))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := p.checkPeer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// dial connects to a Unix socket. (Package net would double the helper's size.)
func dial(name string) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: name}); err != nil {
		syscall.Close(fd)
		if err == syscall.ECONNREFUSED { // the file is left over from a former JVM
			return nil, errNotListening
		}
		return nil, errorf(AttachFailed, "The attach socket does not take connections: %v.", err)
	}
	return os.NewFile(uintptr(fd), "attach socket"), nil
}

// checkPeer verifies that this JVM is the listener (SO_PEERCRED in unix(7) identifies the
// caller of listen): where containers share a /tmp, a JVM of another container may have
// the same PID, and so the same socket name.
func (p Process) checkPeer(conn *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if int(peer.Pid) != p.PID {
		return errorf(AttachFailed, "/tmp/%s belongs to another process (PID %d; 0 is one in another container): two containers share this /tmp.", p.socketName(), peer.Pid)
	}
	return p.verify()
}

// listens reports whether the JVM listens on its attach socket, even if the socket's file
// was deleted. HotSpot binds the socket under a temporary name, which proc_net_unix(5)
// keeps showing.
func (p Process) listens() bool {
	data, err := readProc(p.PID, "net/unix")
	if err != nil {
		return false
	}
	files, err := p.OpenFiles()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(parseUnix(data, "/tmp/"+p.socketName()), func(inode string) bool {
		return slices.Contains(files, "socket:["+inode+"]")
	})
}

// acceptsConnections is __SO_ACCEPTCON in the flags of proc_net_unix(5).
const acceptsConnections = 0x10000

// parseUnix returns the inodes of the listening sockets in proc_net_unix(5) with the
// given path, or the path with the suffix .tmp.
func parseUnix(data []byte, name string) []string {
	var inodes []string
	for line := range strings.Lines(string(data)) {
		// Num RefCount Protocol Flags Type St Inode Path
		fields := strings.Fields(line)
		if len(fields) < 8 || strings.TrimSuffix(fields[7], ".tmp") != name {
			continue
		}
		if flags, err := strconv.ParseUint(fields[3], 16, 64); err == nil && flags&acceptsConnections != 0 {
			inodes = append(inodes, fields[6])
		}
	}
	return inodes
}

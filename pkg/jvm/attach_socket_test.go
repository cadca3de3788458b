//go:build linux

package jvm

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// If a cleaner of /tmp removes the socket, HotSpot creates a new one.
func TestSocketDeleted(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:+EnableDynamicAgentLoading"}})
		p := found(t, app.PID)
		if p.listens() {
			t.Error("listens before anybody attached")
		}
		attach(t, p)
		if err := os.Remove(filepath.Join("/tmp", p.socketName())); err != nil {
			t.Fatal(err)
		}
		if !p.listens() {
			t.Error("with its file deleted, the listening socket is not found")
		}
		old := p
		old.Version = "11.0.2" // which would print its stacks
		wantKind(t, old.Attach(deadline(t)), AttachFailed)
		app.Unharmed()
		if p.Version == "1.8" { // may be too old to recreate it: Debian's version has no update number
			wantKind(t, p.Attach(deadline(t)), AttachFailed)
			return
		}
		attach(t, p)
		loadAgent(t, p, "")
		app.Unharmed()
	})
}

// Anyone who can write to /tmp can put a file in the socket's place.
func TestHostileSocket(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	socket := filepath.Join("/tmp", p.socketName())
	for name, put := range map[string]func(t *testing.T) error{
		"link":     func(*testing.T) error { return os.Symlink("/nowhere", socket) },
		"file":     func(*testing.T) error { return os.WriteFile(socket, nil, 0o600) },
		"pipe":     func(*testing.T) error { return syscall.Mkfifo(socket, 0o600) },
		"listener": func(t *testing.T) error { listen(t, socket); return nil },
		"listener of another user": func(t *testing.T) error {
			jvmtest.NeedUsers(t)
			listen(t, socket)
			return os.Chown(socket, 1234, 1234)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := put(t); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(socket)
			wantKind(t, p.Attach(deadline(t)), AttachFailed)
			app.Unharmed()
		})
	}
	t.Run("left by a former JVM", func(t *testing.T) {
		listen(t, socket).Close() // the file remains without a listener
		attach(t, p)
		app.Unharmed()
	})
}

func listen(t *testing.T, socket string) *net.UnixListener {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	t.Cleanup(func() { listener.Close() })
	return listener
}

func TestParseUnix(t *testing.T) {
	const table = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 100 /tmp/.java_pid7.tmp
0000000000000000: 00000002 00000000 00010000 0001 01 101 /tmp/.java_pid7
0000000000000000: 00000003 00000000 00000000 0001 03 102 /tmp/.java_pid7.tmp
0000000000000000: 00000002 00000000 00010000 0001 01 103 /tmp/.java_pid77
0000000000000000: 00000002 00000000 00010000 0001 01 104
`
	if diff := cmp.Diff([]string{"100", "101"}, parseUnix([]byte(table), "/tmp/.java_pid7")); diff != "" {
		t.Errorf("inodes (-want +got):\n%s", diff)
	}
}

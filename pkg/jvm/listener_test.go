//go:build linux

package jvm

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// impersonate makes this process look like a JVM, with an attach listener that serves
// connections as a broken one might.
func impersonate(t *testing.T, serve func(net.Conn)) Process {
	t.Helper()
	start, err := StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := Process{PID: os.Getpid(), NamespacePID: os.Getpid(), StartTime: start, UID: os.Geteuid(), GID: os.Getegid()}
	socket := filepath.Join("/tmp", p.socketName())
	listener := listen(t, socket)
	t.Cleanup(func() { os.Remove(socket) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	return p
}

// Each check of the attach socket is effective on its own: all others succeed, and the
// listener would answer.
func TestSocketIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, p *Process, socket string)
		want   Kind
	}{
		"its owner is another": {func(t *testing.T, _ *Process, socket string) {
			jvmtest.NeedUsers(t)
			if err := os.Chown(socket, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}, AttachFailed},
		"it is a link": {func(t *testing.T, _ *Process, socket string) {
			if err := os.Rename(socket, "/tmp/elsewhere"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("elsewhere", socket); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove("/tmp/elsewhere") })
		}, AttachFailed},
		"its process took over the PID": {func(_ *testing.T, p *Process, _ string) { p.StartTime-- }, ProcessGone},
	} {
		t.Run(name, func(t *testing.T) {
			p := impersonate(t, func(conn net.Conn) {
				request := make([]byte, argLength)
				if _, err := conn.Read(request); err == nil {
					_, _ = conn.Write([]byte("0\n"))
				}
			})
			if _, _, err := p.Property(deadline(t), property); err != nil {
				t.Fatalf("as it should be: %v", err)
			}
			test.change(t, &p, filepath.Join("/tmp", p.socketName()))
			_, _, err := p.Property(deadline(t), property)
			wantKind(t, err, test.want)
		})
	}
}

// The helper shares the application's memory limit, so only a limited part of an endless
// reply is read.
func TestReplyIsBounded(t *testing.T) {
	written := make(chan int, 1)
	p := impersonate(t, func(conn net.Conn) {
		chunk, n := make([]byte, 64<<10), 0
		for n < 4*maxProperties {
			m, err := conn.Write(chunk)
			n += m
			if err != nil {
				break
			}
		}
		written <- n
	})
	_, _, err := p.Property(deadline(t), property)
	wantKind(t, err, AttachFailed)
	if n := <-written; n > 2*maxProperties { // includes the kernel's buffers
		t.Errorf("%d bytes were read of a reply that has no end", n)
	}
}

// A JVM that accepts a command and does not answer does not delay the caller beyond the
// deadline.
func TestCommandEndsAtDeadline(t *testing.T) {
	over := deadline(t) // unless the command ends earlier
	p := impersonate(t, func(net.Conn) { <-over.Done() })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := p.Property(short, property)
	wantKind(t, err, AttachTimeout)
}

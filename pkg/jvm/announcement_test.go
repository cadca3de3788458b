//go:build linux

package jvm

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// wantNoAnnouncement checks that no announcement to the process remains. Tests of other
// packages may leave theirs in the same /tmp.
func wantNoAnnouncement(t *testing.T, p Process) {
	t.Helper()
	name := filepath.Join("/tmp", p.announcement())
	if _, err := os.Lstat(name); !os.IsNotExist(err) {
		t.Errorf("announced: %s, %v", name, err)
	}
}

// A second SIGQUIT while the first is pending could make the JVM print its stacks: none
// is sent if there is an announcement, unless its attacher is certainly gone.
func TestAnnounced(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	announcement := filepath.Join("/tmp", p.announcement())
	if err := os.WriteFile(announcement, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	wantKind(t, p.Attach(short), AttachTimeout)
	if p.HasSocket() {
		t.Error("the JVM was signalled")
	}

	former := time.Now().Add(-time.Minute)
	if err := os.Chtimes(announcement, former, former); err != nil {
		t.Fatal(err)
	}
	attach(t, p)
	if _, err := os.Lstat(announcement); err == nil {
		t.Error("the announcement is still there")
	}
	app.Unharmed()

	// It is older than any pending SIGQUIT.
	t.Cleanup(func() { ageOf = age })
	ageOf = func(uint64) time.Duration { return time.Hour }
	for ago, want := range map[time.Duration]bool{pending - time.Minute: true, pending + time.Minute: false} {
		if err := os.WriteFile(announcement, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-ago)
		if err := os.Chtimes(announcement, then, then); err != nil {
			t.Fatal(err)
		}
		if other, err := p.announce(); err != nil || other != want {
			t.Errorf("%s ago: another attacher's: %v, %v", ago, other, err)
		}
		if other, err := p.announce(); err != nil || !other {
			t.Errorf("%s ago, the second time: another attacher's: %v, %v", ago, other, err)
		}
		p.withdraw()
	}
}

// A JVM that does not accept attachers, without our knowledge, prints its stacks once at
// most, regardless of how often and when attaching is retried. Java 8 cannot hide the
// option in a file.
func TestSignalledOnce(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.Since(11), func(t *testing.T, jdk jvmtest.JDK) {
		hidden := filepath.Join(t.TempDir(), "options")
		write := func(options string) {
			if err := os.WriteFile(hidden, []byte(options), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("-XX:+DisableAttachMechanism")
		app := jdk.Start(t, jvmtest.Options{Args: []string{"-XX:VMOptionsFile=" + hidden}})
		write("-XX:-DisableAttachMechanism")
		p := found(t, app.PID)
		for range 3 {
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			wantKind(t, p.Attach(short), AttachTimeout)
			cancel()
			app.AwaitOutput("Full thread dump")
			former := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join("/tmp", p.announcement()), former, former); err != nil {
				t.Fatal(err)
			}
		}
		app.Tell("ping")
		if dumps := strings.Count(app.Output(), "Full thread dump"); dumps != 1 {
			t.Errorf("the application's output has %d thread dumps", dumps)
		}
		if err := os.Remove(filepath.Join("/tmp", p.announcement())); err != nil {
			t.Error(err)
		}
	})
}

// HotSpot looks for the announcement in its working directory first. A file of another
// user there makes it treat the SIGQUIT as a person's, and print its stacks.
func TestForeignAnnouncement(t *testing.T) {
	jvmtest.NeedUsers(t)
	directory := t.TempDir()
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Dir: directory})
	p := found(t, app.PID)
	foreign := filepath.Join(directory, p.announcement())
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(foreign, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	wantKind(t, p.Attach(deadline(t)), AttachFailed)
	app.Unharmed()
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(deadline(t)); err != nil {
		t.Error(err)
	}
	app.Unharmed()
}

// An attacher that is killed during its last checks of the JVM, which take long on a busy
// machine, has announced nothing yet: the next one sends the SIGQUIT at once.
func TestKilledBeforeSignal(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	ctx, killed := deadline(t), make(chan struct{})
	go func() {
		defer close(killed)
		_ = p.Attach(ctx, func() error { runtime.Goexit(); return nil }) // does not return
	}()
	<-killed
	wantNoAnnouncement(t, p)
	attach(t, p)
	wantNoAnnouncement(t, p)
	app.Unharmed()
}

// Whoever announces himself during the last checks of another attacher is the only one who
// sends SIGQUIT.
func TestAnnouncedMeanwhile(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	p := found(t, app.PID)
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	wantKind(t, p.Attach(short, func() error {
		other, err := p.announce()
		if other {
			t.Error("it is announced before its checks")
		}
		return err
	}), AttachTimeout)
	if p.HasSocket() {
		t.Error("the JVM was signaled")
	}
	p.withdraw()
	attach(t, p)
	app.Unharmed()
}

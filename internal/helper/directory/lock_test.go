//go:build linux

package directory

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// A helper that waited while another one changed the agent of the JVM, or stopped it, does not do
// what it was asked for before that.
func TestLockAfterAnother(t *testing.T) {
	p := jvm.Process{PID: 1, StartTime: 100}
	write := func(at time.Duration) func(*testing.T, *Directory) {
		return func(t *testing.T, dir *Directory) {
			written := time.Now().Add(at)
			if err := errors.Join(dir.WriteDesired(DesiredFile(p), url.Values{}), dir.Chtimes(DesiredFile(p), written, written)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		another func(*testing.T, *Directory)
		busy    bool
	}{
		"the other one changed nothing":         {another: func(*testing.T, *Directory) {}},
		"the other one changed what is desired": {another: write(0), busy: true},
		"it did before this one was asked":      {another: write(-time.Second)},
		"it did by a clock that is ahead":       {another: write(time.Hour)},
		"the other one stopped the agent": {another: func(t *testing.T, dir *Directory) {
			if err := dir.Remove(LockFile(p)); err != nil {
				t.Fatal(err)
			}
		}, busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			dir := &Directory{Root: root}
			unlock, err := dir.Lock(t.Context(), p, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			asked, done := time.Now(), make(chan error)
			go func() {
				unlock, err := dir.Lock(t.Context(), p, asked)
				if err == nil {
					unlock()
				}
				done <- err
			}()
			for opened(t, dir, p) < 2 {
				time.Sleep(time.Millisecond)
			}
			tc.another(t, dir)
			unlock()
			var failed *helperapi.Error
			err = <-done
			if busy := errors.As(err, &failed) && failed.Reason == helperapi.ReasonBusy; busy != tc.busy || err != nil && !busy {
				t.Errorf("got %v, want %s: %t", err, helperapi.ReasonBusy, tc.busy)
			}
		})
	}
}

// opened returns how often this process has the lock of a JVM open.
func opened(t *testing.T, dir *Directory, p jvm.Process) (times int) {
	t.Helper()
	lock, err := dir.Stat(LockFile(p))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if open, err := os.Stat(filepath.Join("/proc/self/fd", file.Name())); err == nil && os.SameFile(open, lock) {
			times++
		}
	}
	return times
}

//go:build linux

package directory

import (
	"errors"
	"net/url"
	"os"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// A helper that came before another one loaded, reconfigured, confirmed or stopped the agent of the
// JVM does not do what it was asked for.
func TestLockAfterAnother(t *testing.T) {
	p := jvm.Process{PID: 1, StartTime: 100}
	write := func(dir *Directory) error { return dir.WriteDesired(DesiredFile(p), url.Values{}) }
	stop := func(dir *Directory) error {
		return errors.Join(dir.Remove(DesiredFile(p)), dir.Remove(LockFile(p)))
	}
	for name, tc := range map[string]struct {
		before, another func(*Directory) error
		confirmed, busy bool
	}{
		"nothing is changed":            {},
		"nothing is changed since":      {before: write},
		"it is found as desired":        {before: write, confirmed: true, busy: true},
		"it is loaded":                  {another: write, busy: true},
		"it is reconfigured":            {before: write, another: write, busy: true},
		"it is stopped":                 {before: write, another: stop, busy: true},
		"it is loaded, and stopped":     {another: func(dir *Directory) error { return errors.Join(write(dir), stop(dir)) }, busy: true},
		"it is stopped, and loaded":     {before: write, another: func(dir *Directory) error { return errors.Join(stop(dir), write(dir)) }, busy: true},
		"nothing was there to stop":     {another: func(dir *Directory) error { return dir.Remove(LockFile(p)) }, busy: true},
		"that of another JVM is loaded": {another: func(dir *Directory) error { return dir.WriteDesired(DesiredFile(jvm.Process{PID: 2}), url.Values{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			dir := &Directory{Root: root}
			do := func(what func(*Directory) error) {
				if what == nil {
					return
				}
				if err := what(dir); err != nil {
					t.Fatal(err)
				}
			}
			do(tc.before)
			other, err := dir.Turn(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Lock(t.Context()); err != nil {
				t.Fatal(err)
			}
			turn, err := dir.Turn(p)
			if err != nil {
				t.Fatal(err)
			}
			defer turn.Close()
			do(tc.another)
			if tc.confirmed {
				other.Confirm()
			}
			other.Close()
			err = turn.Lock(t.Context())
			var failed *helperapi.Error
			if busy := errors.As(err, &failed) && failed.Reason == helperapi.ReasonBusy; busy != tc.busy || err != nil && !busy {
				t.Errorf("got %v, want %s: %t", err, helperapi.ReasonBusy, tc.busy)
			}
		})
	}
}

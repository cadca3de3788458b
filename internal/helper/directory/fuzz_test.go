//go:build linux

package directory

import (
	"strings"
	"testing"
)

// Names in the agent directory.
func FuzzFileName(f *testing.F) {
	for _, name := range []string{"1-1.desired", "1-1.lock", ".x.tmp", "-.desired", "99999999999999999999-1.lock", "agent-0123456789ab.jar"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if isGone(name, func(int, uint64) bool { return false }) && !strings.HasSuffix(name, DesiredSuffix) && !strings.HasSuffix(name, lockSuffix) {
			t.Errorf("%q belongs to a process", name)
		}
	})
}

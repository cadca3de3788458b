//go:build linux

package helper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// What a JVM has left is removed as its user, also if all that runs in the container is root's.
// A directory of somebody else stays.
func TestNodeClearsAsOwner(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	o := silentLoad
	o.Container, o.Group, o.Capabilities = true, pod, "-all"
	app := jvmtest.Need(t, 17).Start(t, o)
	dir := fmt.Sprintf("/proc/%d/root%s", app.PID, helperapi.AgentDirectory)
	gone := &helperapi.Target{PID: 77, StartTime: 5}
	for name, test := range map[string]struct {
		files map[string]int // their owners
		want  helperapi.Reason
	}{
		"the JVM's":            {map[string]int{"77-5.desired": nobody, "77-5.lock": nobody}, ""},
		"of another JVM":       {map[string]int{"77-6.desired": nobody}, helperapi.ReasonAgentDirectoryNotTrusted},
		"with another's files": {map[string]int{"77-5.desired": intruder}, helperapi.ReasonAgentDirectoryNotTrusted},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			for file, owner := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chown(filepath.Join(dir, file), owner, owner); err != nil {
					t.Fatal(err)
				}
			}
			report := onNode(t, pod, helperapi.VerbUnload, helperapi.Request{Target: gone})
			wantReason(t, report, test.want)
			if _, err := os.Stat(dir); (err != nil) != (test.want == "") || report.AgentsLeft {
				t.Errorf("the directory: %v, agents left: %t", err, report.AgentsLeft)
			}
		})
	}
	app.Unharmed()
}

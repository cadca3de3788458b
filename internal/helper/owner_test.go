//go:build linux

package helper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
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

// In a user namespace, the node's root is not the container's, and as little trusted as others.
func TestNodeRootOfNode(t *testing.T) {
	shared := t.TempDir()
	if err := errors.Join(os.Chmod(shared, 0o755), os.Mkdir(filepath.Join(shared, filepath.Base(helperapi.AgentDirectory)), 0o755)); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.OpenRoot(shared)
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	for name, test := range map[string]struct {
		options jvmtest.Options
		want    helperapi.Reason
	}{
		"of the container":  {jvmtest.Options{User: nobody}, ""},
		"in user namespace": {jvmtest.Options{User: 1000, UserNamespace: true}, helperapi.ReasonAgentDirectoryNotTrusted},
	} {
		t.Run(name, func(t *testing.T) {
			pod, o := jvmtest.NeedPod(t), test.options
			o.Container, o.Group = true, pod
			app := jvmtest.Need(t, 17).Start(t, o)
			in := jvm.InPod(pod.UID, pod.ContainerID)
			p, err := in.Lookup(1, targetOf(t, app).StartTime)
			if err != nil {
				t.Fatal(err)
			}
			wantReason(t, typedReport(in.As(p.UID, p.GID, func() error {
				dir, err := directory.Open(tmp, false, &p)
				if err == nil {
					dir.Close()
				}
				return err
			})), test.want)
			app.Unharmed()
		})
	}
}

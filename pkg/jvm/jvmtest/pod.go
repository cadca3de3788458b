//go:build linux

package jvmtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Pod has the control groups of a pod with one container, named as a kubelet and containerd
// name them.
type Pod struct {
	// UID is the pod's, ContainerID the container's.
	UID, ContainerID string
	// Tasks is the group of the pod itself, with its limit of processes and threads.
	Tasks TaskGroup

	container controlGroup
}

// procs implements ControlGroup: a JVM is started in the container.
func (p *Pod) procs() string { return p.container.procs() }

// NeedPod creates the control groups of a pod, which are removed at the end of the test. Where
// that is not possible, the test is skipped, or fails if CI is set.
func NeedPod(t *testing.T) *Pod {
	t.Helper()
	p := &Pod{
		UID:         fmt.Sprintf("%08x-1111-4222-8333-444455556666", rand.Uint32()),
		ContainerID: fmt.Sprintf("%016x%048x", rand.Uint64(), 0),
	}
	for _, mount := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		kubepods, ok := newControlGroup(t, mount, "pids.max")
		if !ok {
			continue
		}
		create := func(dir string) controlGroup {
			// Version 2 has the controller only where the group above says so.
			_ = os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+pids"), 0o644)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			g := controlGroup{t: t, dir: dir}
			t.Cleanup(g.remove)
			return g
		}
		p.Tasks.controlGroup = create(filepath.Join(kubepods.dir, "pod"+p.UID))
		p.container = create(filepath.Join(p.Tasks.dir, p.ContainerID))
		return p
	}
	missing(t, "control groups", "run the tests as root, where /sys/fs/cgroup can be written to")
	return nil
}

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// nodeRoot is the root directory of a node, for a process that sees its process 1. It takes
// CAP_SYS_PTRACE.
const nodeRoot files = "/proc/1/root"

// FreePodTasks returns the tasks of the tightest control group that contains a pod of the
// node: the pod's, whose limit is the kubelet's podPidsLimit, and those above. limited is
// false if none has a limit. It is an error if that cannot be determined.
func FreePodTasks(podUID string) (tasks Tasks, limited bool, err error) {
	return nodeRoot.freePodTasks(podUID)
}

func (fs files) freePodTasks(podUID string) (tightest Tasks, limited bool, err error) {
	g, root, err := fs.pod(podUID, "pids")
	if err != nil {
		return tightest, false, err
	}
	for ; ; g.dir = path.Dir(g.dir) {
		if _, err := g.read("pids.max"); err != nil && !errors.Is(err, os.ErrNotExist) { // the root, and groups without the controller, have none
			return tightest, false, err
		}
		if tasks, ok := g.tasks(); ok && (!limited || tasks.Free() < tightest.Free()) {
			tightest, limited = tasks, true
		}
		if g.dir == root { // which has a limit where the node is a container itself
			return tightest, limited, nil
		}
	}
}

// FreePodMemory returns the memory of a pod's own control group on the node. limited is false
// if it has no limit. It is an error if that cannot be determined.
func FreePodMemory(podUID string) (memory Memory, limited bool, err error) {
	return nodeRoot.freePodMemory(podUID)
}

func (fs files) freePodMemory(podUID string) (memory Memory, limited bool, err error) {
	pod, _, err := fs.pod(podUID, "memory")
	if err != nil {
		return memory, false, err
	}
	memory, limited = pod.memory()
	return memory, limited, nil
}

// hierarchies is where nodes mount the control groups.
const hierarchies = "/sys/fs/cgroup"

const (
	// maxDepth limits how far below the root a pod's group is searched: slices of kind nest
	// to 4, and the kubelet's --cgroup-root may add some.
	maxDepth = 8
	// maxGroups limits how many groups are looked at. What is in pods, services and scopes is
	// not.
	maxGroups = 4000
)

// pod returns a pod's group in the hierarchy of a controller, and the root of that.
func (fs files) pod(podUID, controller string) (pod group, root string, err error) {
	pod, root = group{fs: fs, version: v1}, path.Join(hierarchies, controller)
	if _, err := os.Stat(fs.path(root)); err != nil {
		pod.version, root = v2, hierarchies
		if _, err := os.Stat(fs.path(path.Join(root, "cgroup.controllers"))); err != nil {
			return pod, root, fmt.Errorf("the node's control groups are not visible: %w", cause(err))
		}
	}
	pod.dir, err = fs.find(root, podUID)
	return pod, root, err
}

// find searches the directory of a pod's group, the closest one to the root.
func (fs files) find(root, podUID string) (string, error) {
	dirs, groups := []string{root}, 0
	for range maxDepth {
		var below []string
		for _, dir := range dirs {
			entries, err := os.ReadDir(fs.path(dir))
			if err != nil && !errors.Is(err, os.ErrNotExist) { // removed meanwhile
				return "", fmt.Errorf("the node's control groups cannot be read: %w", cause(err))
			}
			for _, entry := range entries {
				uid, isPod := podOf(entry.Name())
				if !entry.IsDir() || strings.Contains(entry.Name(), ":") {
					continue
				}
				if groups++; groups > maxGroups {
					return "", fmt.Errorf("the node has more than %d control groups outside pods", maxGroups)
				}
				switch {
				case isPod && uid == podUID:
					return path.Join(dir, entry.Name()), nil
				case !isPod && !isLeaf(entry.Name()):
					below = append(below, path.Join(dir, entry.Name()))
				}
			}
		}
		dirs = below
	}
	return "", errors.New("the node has no control group of the pod")
}

// isLeaf reports whether a group of systemd has no slices below it.
func isLeaf(name string) bool {
	switch path.Ext(name) {
	case ".scope", ".service", ".mount", ".socket", ".swap":
		return true
	}
	return false
}

// cause returns an error without the path, which differs between controllers.
func cause(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}

func (fs files) path(name string) string { return filepath.Join(string(fs), name) }

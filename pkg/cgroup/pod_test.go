package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits of a pod are found in the node's control groups, wherever the kubelet has them.
func TestPod(t *testing.T) {
	const uid, other = "0f3f5a6e-1111-4222-8333-444455556666", "0f3f5a6e-1111-4222-8333-444455556667"
	slice := func(prefix, uid string) string {
		return prefix + "-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	v2 := func(dir string, more ...string) map[string]string {
		tree := map[string]string{"cgroup.controllers": "pids memory"}
		for _, name := range append(more, dir+"/pids.max=100", dir+"/pids.current=40", dir+"/memory.max=1000", dir+"/memory.high=max", dir+"/memory.current=400", dir+"/memory.stat=inactive_file 100") {
			file, content, _ := strings.Cut(name, "=")
			tree[file] = content
		}
		return tree
	}
	many := map[string]string{"cgroup.controllers": "pids"}
	for i := range maxGroups + 1 {
		many[fmt.Sprintf("g%d/pids.max", i)] = "max"
	}
	for name, test := range map[string]struct {
		tree   map[string]string
		tasks  Tasks
		memory Memory
		err    string
	}{
		"systemd":  {tree: v2("kubepods.slice/kubepods-burstable.slice/" + slice("kubepods-burstable", uid)), tasks: Tasks{100, 40}, memory: Memory{1000, 700}},
		"kind":     {tree: v2("kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/" + slice("kubelet-kubepods-besteffort", uid)), tasks: Tasks{100, 40}, memory: Memory{1000, 700}},
		"cgroupfs": {tree: v2("kubepods/burstable/pod" + uid), tasks: Tasks{100, 40}, memory: Memory{1000, 700}},
		"cgroupfs, v1": {tree: map[string]string{
			"pids/kubepods/pod" + uid + "/pids.max": "50", "pids/kubepods/pod" + uid + "/pids.current": "7",
			"memory/kubepods/pod" + uid + "/memory.limit_in_bytes": "2000", "memory/kubepods/pod" + uid + "/memory.usage_in_bytes": "500", "memory/kubepods/pod" + uid + "/memory.stat": "total_inactive_file 0",
		}, tasks: Tasks{50, 7}, memory: Memory{2000, 1500}},
		"tighter above":            {tree: v2("kubepods/pod"+uid, "kubepods/pids.max=70", "kubepods/pids.current=69"), tasks: Tasks{70, 69}, memory: Memory{1000, 700}},
		"tighter at the top":       {tree: v2("kubepods/pod"+uid, "pids.max=70", "pids.current=70"), tasks: Tasks{70, 70}, memory: Memory{1000, 700}},
		"no limit":                 {tree: map[string]string{"cgroup.controllers": "", "kubepods/pod" + uid + "/pids.max": "max", "kubepods/pod" + uid + "/memory.max": "max"}},
		"no controllers":           {tree: map[string]string{"cgroup.controllers": "", "kubepods/pod" + uid + "/cgroup.procs": ""}},
		"pretended by another pod": {tree: v2("kubepods/pod" + other + "/c/pod" + uid), err: "no control group of the pod"},
		"pretended by a service":   {tree: v2("system.slice/a.service/pod" + uid), err: "no control group of the pod"},
		"prefix of a UID":          {tree: v2("kubepods/pod" + uid + "0"), err: "no control group of the pod"},
		"too deep":                 {tree: v2("a/b/c/d/e/f/g/h/pod" + uid), err: "no control group of the pod"},
		"too many":                 {tree: many, err: "more than 4000 control groups"},
		"not visible":              {tree: map[string]string{}, err: "not visible: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, content := range test.tree {
				file = filepath.Join(root, hierarchies, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			tasks, limited, err := files(root).freePodTasks(uid)
			if tasks != test.tasks || limited != (tasks != Tasks{}) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("tasks are %+v, %v, %v", tasks, limited, err)
			}
			memory, limited, err := files(root).freePodMemory(uid)
			if memory != test.memory || limited != (memory != Memory{}) || (err == nil) != (test.err == "") {
				t.Errorf("memory is %+v, %v, %v", memory, limited, err)
			}
		})
	}
}

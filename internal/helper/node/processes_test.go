package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// What a container has does not depend on the order of its processes.
func TestPowersOfProcesses(t *testing.T) {
	sys := strings.Replace(containerMounts, "/sys ro,nosuid - sysfs sysfs ro", "/sys rw,nosuid - sysfs sysfs rw", 1)
	groups := "118 105 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	ordinary, privileged, sidecar := fake{"user", ordinary, sys}, fake{"user", all, sys}, fake{"user", ordinary, containerMounts + groups}
	for name, test := range map[string]struct {
		processes []fake
		same      bool // mount namespace
		want      string
	}{
		"one more privileged":        {[]fake{ordinary, privileged}, true, "is privileged;"},
		"one less privileged":        {[]fake{privileged, ordinary}, true, "is privileged;"},
		"control groups, at last":    {[]fake{privileged, sidecar}, false, "is privileged;"},
		"control groups, at first":   {[]fake{sidecar, privileged}, false, "is privileged;"},
		"control groups of the node": {[]fake{ordinary, sidecar}, false, "(/sys/fs/cgroup);"},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
			var pids []int
			for i, process := range test.processes {
				pid := 7 + i
				process.write(t, proc, pid)
				if pids = append(pids, pid); test.same {
					link := filepath.Join(proc, strconv.Itoa(pid), "ns/mnt")
					if err := errors.Join(os.Remove(link), os.Symlink("mnt:[7]", link)); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, found, err := Proc(proc).Powers(pids, uid)
			if got := (power.Allowed{}).Refusal("It", "the node agent", found); err != nil || !strings.Contains(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// A process that has the capabilities or the files of the node may be the runtime's, which
// enters the container. What any other has is settled.
func TestPowersWhileRuntimeEnters(t *testing.T) {
	privileged := strings.Replace(containerMounts, "/sys ro,nosuid - sysfs sysfs ro", "/sys rw,nosuid - sysfs sysfs rw", 1)
	for name, test := range map[string]struct {
		process fake
		settled bool
	}{
		"with the node's files":     {fake{"user mnt net", all, nodeMounts}, false},
		"with the node's PIDs":      {fake{"user pid", all, containerMounts}, false},
		"in a user namespace":       {fake{"pid", all, containerMounts}, false},
		"with all capabilities":     {fake{"user", all, containerMounts}, false},
		"of a privileged container": {fake{"user", all, privileged}, true},
		"with few capabilities":     {fake{"user pid", ordinary, containerMounts}, true},
		"with one more":             {fake{"user", "00000000a80c25fb", containerMounts}, true},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
			fake{"user", ordinary, containerMounts}.write(t, proc, 6)
			test.process.write(t, proc, 7)
			settled, found, err := Proc(proc).Powers([]int{6, 7}, uid)
			if err != nil || (power.Allowed{}).Refusal("It", "the node agent", found) == "" {
				t.Errorf("found %+v, %v", found, err)
			}
			if refusal := (power.Allowed{}).Refusal("It", "the node agent", settled); (refusal != "") != test.settled {
				t.Errorf("settled: %q, want %t", refusal, test.settled)
			}
		})
	}
}

// The first thread of a process may end before others do.
func TestExists(t *testing.T) {
	const after = " 1 7 7 0 -1 4228108 0 0 0 0 0 0 0 0 20 0 "
	for stat, want := range map[string]bool{
		"7 (x) S" + after + "1 0": true, "7 (x) Z" + after + "1 0": false, "7 (a) Z) Z" + after + "1 0": false, "7 (x) X" + after + "1 0": false,
		"7 (x) Z" + after + "2 0": true, "7 (x) Z) S" + after + "1 0": true, "": true,
	} {
		proc := t.TempDir()
		fake{"user", ordinary, containerMounts}.write(t, proc, 7)
		if err := os.WriteFile(filepath.Join(proc, "7", "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := Proc(proc).exists(7); got != want {
			t.Errorf("%q: got %t, want %t", stat, got, want)
		}
		if Proc(proc).exists(8) {
			t.Error("a process without files exists")
		}
	}
	if !gone(&fs.PathError{Op: "read", Err: syscall.ESRCH}) || gone(&fs.PathError{Op: "read", Err: syscall.EACCES}) {
		t.Error("a process has exited if and only if its files say so")
	}
}

// The namespaces of a process are those of its threads, and its first one may have ended.
func TestPowersOfThreads(t *testing.T) {
	proc := t.TempDir()
	fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
	fake{"user", ordinary, containerMounts}.write(t, proc, 7)
	fake{"user pid", ordinary, containerMounts}.write(t, proc, 9)
	for _, err := range []error{os.RemoveAll(filepath.Join(proc, "7", "ns")), os.MkdirAll(filepath.Join(proc, "7", "task", "7"), 0o755), os.Mkdir(filepath.Join(proc, "7", "task", "9"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	settled, _, err := Proc(proc).Powers([]int{7}, uid)
	if got := (power.Allowed{}).Refusal("It", "the node agent", settled); err != nil || !strings.Contains(got, "hostPID") {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := Proc(proc).PIDNamespace(7); got != "pid:[1]" {
		t.Errorf("got %q, %v", got, err)
	}
}

// What a container may choose the length of is read to a limit only.
func TestPowersLimits(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("200 100 8:1 /etc/" + strconv.Itoa(i) + " /x rw - ext4 /dev/sda1 rw\n")
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		mounts    string
		processes int
		want      string
	}{
		"of one namespace":   {many(maxMountinfo / 40), 1, "its processes have more mounts than the node agent looks at: 1048576 bytes of /proc/<pid>/mountinfo in a mount namespace, and 4194304 in all"},
		"of all":             {many(maxMountinfo / 60), maxAllMountinfo/maxMountinfo*2 + 1, "its processes have more mounts than the node agent looks at"},
		"of one, within it":  {many(10000), 1, ""},
		"many mounts of one": {strings.Repeat("200 100 8:1 /etc /x rw - ext4 /dev/sda1 rw\n", 20000), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
			var pids []int
			for pid := 7; pid < 7+test.processes; pid++ {
				fake{"user", ordinary, containerMounts + test.mounts}.write(t, proc, pid)
				pids = append(pids, pid)
			}
			_, found, err := Proc(proc).Powers(pids, uid)
			if (err != nil) != (test.want != "") || err != nil && (!errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("found %d, %v, want %q", len(found), err, test.want)
			}
		})
	}
}

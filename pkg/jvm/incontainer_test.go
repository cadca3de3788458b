//go:build linux

package jvm

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Containers are recognized by the control group names of the runtimes.
func TestContainerNamed(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for name, tc := range map[string]struct {
		groups string
		want   bool
	}{
		"containerd":                     {"0::/kubepods/pod1/" + id + "\n", true},
		"containerd, systemd":            {"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope\n", true},
		"CRI-O":                          {"0::/kubepods.slice/crio-" + id + ".scope\n", true},
		"from a namespace beside it":     {"0::/../cri-containerd-" + id + ".scope\n", true},
		"a prefix with a colon":          {"0::/system.slice/pod1:cri-containerd:" + id + "\n", true},
		"a group below it":               {"0::/kubepods/pod1/" + id + "/init.scope\n", true},
		"version 1":                      {"12:pids:/kubepods/pod1/" + id + "\n1:name=systemd:/kubepods/pod1/" + id + "\n", true},
		"another one":                    {"0::/kubepods/pod1/" + strings.Repeat("0b", 32) + "\n", false},
		"the end of another one's":       {"0::/kubepods/pod1/ff" + id + "\n", false},
		"the beginning of another one's": {"0::/kubepods/pod1/" + id + "ff\n", false},
		"our own namespace":              {"0::/\n", false},
		"nothing that can be read":       {"", false},
	} {
		if got := Container(id).named(tc.groups); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// The oldest process has the IDs of a container, whatever namespaces others have.
func TestLocated(t *testing.T) {
	for name, test := range map[string]struct {
		nspids [][]int // of processes in the order of their start, the oldest last
		want   []int
	}{
		"a container":                            {[][]int{{21, 2}, {20, 1}}, []int{2, 1}},
		"the node's IDs":                         {[][]int{{21}, {20}}, []int{21, 20}},
		"the node's IDs, and a namespace below":  {[][]int{{22, 1}, {21}, {20}}, []int{22, 21, 20}},
		"a container, and a namespace below":     {[][]int{{22, 3, 1}, {21, 2}, {20, 1}}, []int{3, 2, 1}},
		"the runtime, which is about to enter":   {[][]int{{22}, {21, 2}, {20, 1}}, []int{22, 2, 1}},
		"a container within one, and one within": {[][]int{{22, 9, 3, 1}, {20, 8, 1}}, []int{3, 1}},
	} {
		var processes []Process
		for i, nspids := range test.nspids {
			processes = append(processes, Process{PID: nspids[0], StartTime: uint64(10 - i), nspids: nspids})
		}
		var got []int
		for _, p := range InPod("pod", "container").located(processes) {
			got = append(got, p.PIDIn())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Where containers of a pod share their process IDs or /tmp, a JVM of another one is alive, too.
func TestAlive(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Container: true, Group: pod})
	p := found(t, app.PID)
	alive, err := InPod(pod.UID, "beside").Alive()
	if err != nil {
		t.Fatal(err)
	}
	if !alive(p.NamespacePID, p.StartTime) {
		t.Error("a JVM beside the container is gone")
	}
	if alive(p.NamespacePID, p.StartTime+1) || alive(p.NamespacePID+1, p.StartTime) {
		t.Error("another process is alive")
	}
	other := jvmtest.NeedPod(t)
	if alive, err = InPod(other.UID, other.ContainerID).Alive(); err != nil || alive(p.NamespacePID, p.StartTime) {
		t.Errorf("a JVM of another pod is alive, %v", err)
	}
	app.Unharmed()
}

// An intruder may have started a moment ago.
func TestIntrudersAreOfNow(t *testing.T) {
	pod := jvmtest.NeedPod(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Container: true, Group: pod, User: nobody})
	in := InPod(pod.UID, pod.ContainerID)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tmp, err := StatTmp(root)
	if err != nil {
		t.Fatal(err)
	}
	scanned.Lock()
	scanned.podUID, scanned.placed, scanned.at = pod.UID, nil, time.Now().Add(time.Hour) // without the JVM
	scanned.Unlock()
	t.Cleanup(func() { scanned.podUID = "" })
	if users, err := tmp.Intruders(in); err != nil || !slices.Equal(users, []int{nobody}) {
		t.Errorf("intruders are %v, %v", users, err)
	}
	app.Unharmed()
}

//go:build linux

package helper

import (
	"strings"
	"testing"
)

func TestContainerID(t *testing.T) {
	id, other := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	mount := func(root, at, kind string) string {
		return "1 2 0:3 " + root + " " + at + " rw - " + kind + " none rw\n"
	}
	sandbox := mount("/containerd/sandboxes/"+other+"/hostname", "/etc/hostname", "ext4")
	for name, test := range map[string]struct{ mounts, groups, want string }{
		"nothing":                          {},
		"a namespace of its own":           {groups: "0::/\n", mounts: mount("/", "/sys/fs/cgroup", "cgroup2")},
		"cgroupfs":                         {groups: "0::/kubepods/burstable/pod1/" + id + "\n", want: id},
		"systemd, containerd":              {groups: "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope\n", want: id},
		"systemd, CRI-O":                   {groups: "0::/kubepods.slice/crio-" + id + ".scope\n", want: id},
		"a group below it":                 {groups: "0::/kubepods/pod1/" + id + "/init\n", want: id},
		"a node that is a container":       {groups: "0::/system.slice/docker-" + other + ".scope/kubelet.slice/cri-containerd-" + id + ".scope\n", want: id},
		"version 1":                        {groups: "9:memory:/kubepods/pod1/" + id + "\n8:cpu,cpuacct:/kubepods/pod1/" + id + "\n1:name=systemd:/\n", want: id},
		"mounts of version 1":              {mounts: mount("/kubepods/pod1/"+id, "/sys/fs/cgroup/memory", "cgroup"), want: id},
		"environment file of CRI-O":        {mounts: mount("/containers/storage/overlay-containers/"+id+"/userdata/.containerenv", "/run/.containerenv", "tmpfs"), want: id},
		"the sandbox is another container": {mounts: sandbox},
		"beside the sandbox":               {mounts: sandbox, groups: "0::/kubepods/pod1/" + id + "\n", want: id},
		"two that disagree":                {groups: "9:memory:/a/" + id + "\n8:cpu:/a/" + other + "\n"},
		"mount and group disagree":         {groups: "9:memory:/a/" + id + "\n", mounts: mount("/a/"+other, "/sys/fs/cgroup/cpu", "cgroup")},
		"too short":                        {groups: "0::/kubepods/pod1/" + id[1:] + "\n"},
	} {
		if got := containerID(test.mounts, test.groups); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestInstance(t *testing.T) {
	line := "1 2 0:3 /var/lib/kubelet/pods/8f0c/containers/app/1a2b3c4d /dev/termination-log rw - ext4 /dev/sda rw\n"
	for mounts, want := range map[string]string{
		"":   "",
		line: "app/1a2b3c4d",
		strings.Replace(line, "/1a2b3c4d", "", 1):           "",
		strings.Replace(line, "1a2b3c4d", "1a2b3c4d/x", 1):  "",
		"1 2 0:3 / / rw - overlay none rw\n" + "x\n" + line: "app/1a2b3c4d",
	} {
		if got := instance(mounts); got != want {
			t.Errorf("%q: got %q, want %q", mounts, got, want)
		}
	}
}

func TestHello(t *testing.T) {
	hello := Helper{Version: "1"}.Hello()
	if hello.Version != "1" || hello.InitStartTime == 0 {
		t.Errorf("got %+v", hello)
	}
}

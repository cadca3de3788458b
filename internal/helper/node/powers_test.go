package node

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

const (
	uid   = "0f3f5a6e-1111-4222-8333-444455556666"
	id    = "c0ffee" + idEnd
	idEnd = "00000000000000000000000000000000000000000000000000000000aa"
	// sandbox is where containerd keeps the files of sandboxes.
	sandbox = "/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/"
	// ordinary are the capabilities of containerd's containers, all those of a privileged one.
	ordinary, all = "00000000a80425fb", "000001ffffffffff"
	// nodeMounts are those of process 1: the system's disk, a disk for data, and what it has
	// mounted for pods.
	nodeMounts = `25 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
26 25 0:6 / /dev rw - devtmpfs udev rw
27 25 0:21 / /sys rw - sysfs sysfs rw
28 25 0:22 / /proc rw - proc proc rw
29 25 0:23 / /run rw - tmpfs tmpfs rw
30 27 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
31 26 0:25 / /dev/shm rw - tmpfs tmpfs rw
32 26 0:26 / /dev/mqueue rw - mqueue mqueue rw
33 25 8:16 / /data rw - ext4 /dev/sdb rw
40 29 0:50 / /run/containerd/io.containerd.runtime.v2.task/k8s.io/` + id + `/rootfs rw - overlay overlay rw
48 29 0:54 / /run/containerd/io.containerd.grpc.v1.cri/sandboxes/decade` + idEnd + `/shm rw - tmpfs shm rw
47 29 0:53 / /run/containerd/other/rootfs rw - overlay overlay rw
41 29 0:51 / /run/containerd/io.containerd.grpc.v1.cri/sandboxes/` + id + `/shm rw - tmpfs shm rw
42 25 0:52 / /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~projected/kube-api-access-x rw - tmpfs tmpfs rw
43 25 8:32 / /var/lib/kubelet/plugins/kubernetes.io/csi/x/globalmount rw - ext4 /dev/sdc rw
44 25 8:32 / /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~csi/pvc/mount rw - ext4 /dev/sdc rw
45 25 8:1 /etc/kubernetes /var/lib/kubelet/pods/` + uid + `/volume-subpaths/host/app/0 rw - ext4 /dev/sda1 rw
46 25 8:32 /sub /var/lib/kubelet/pods/` + uid + `/volume-subpaths/pvc/app/1 rw - ext4 /dev/sdc rw
`
	// containerMounts are those of every container.
	containerMounts = `100 99 0:50 / / rw - overlay overlay rw
101 100 0:60 / /proc rw,nosuid - proc proc rw
102 100 0:61 / /dev rw,nosuid - tmpfs tmpfs rw
103 102 0:62 / /dev/pts rw - devpts devpts rw
104 102 0:63 / /dev/mqueue rw - mqueue mqueue rw
105 100 0:64 / /sys ro,nosuid - sysfs sysfs ro
106 105 0:24 /../../kubepods-burstable-pod0f3f5a6e_1111_4222_8333_444455556666.slice/cri-containerd-` + id + `.scope /sys/fs/cgroup ro - cgroup2 cgroup rw
107 100 8:1 /var/lib/kubelet/pods/` + uid + `/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw
108 102 8:1 /var/lib/kubelet/pods/` + uid + `/containers/app/0a1b2c3d /dev/termination-log rw - ext4 /dev/sda1 rw
109 100 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/` + id + `/hostname /etc/hostname rw - ext4 /dev/sda1 rw
110 100 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/` + id + `/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda1 rw
111 102 0:51 / /dev/shm rw - tmpfs shm rw
112 100 0:52 / /var/run/secrets/kubernetes.io/serviceaccount ro - tmpfs tmpfs rw
113 101 0:60 /bus /proc/bus ro - proc proc rw
114 101 0:61 /null /proc/kcore rw - tmpfs tmpfs rw
115 100 8:1 /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~empty-dir/tmp /tmp rw - ext4 /dev/sda1 rw
116 100 8:32 / /pvc rw - ext4 /dev/sdc rw
117 100 8:32 /sub /pvc/sub rw - ext4 /dev/sdc rw
`
)

// fake is a process of a fake proc(5). Namespaces that it does not name are its own.
type fake struct {
	namespaces, capabilities, mounts string
}

func (f fake) write(t *testing.T, proc string, pid int) {
	t.Helper()
	dir := filepath.Join(proc, strconv.Itoa(pid))
	if err := os.MkdirAll(filepath.Join(dir, "ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"pid", "net", "ipc", "user", "mnt"} {
		of := pid
		if strings.Contains(f.namespaces, ns) {
			of = 1
		}
		if err := os.Symlink(ns+":["+strconv.Itoa(of)+"]", filepath.Join(dir, "ns", ns)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"status": "Name:\tx\nCapPrm:\t0000000000000000\nCapBnd:\t" + f.capabilities + "\n", "mountinfo": f.mounts,
		"cgroup": "0::/../../../../init.scope\n", "stat": strconv.Itoa(pid) + " (x) S 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The powers of a container are found in what the kernel shows of its processes; what the
// kubelet and the runtime give to every container is none.
func TestPowers(t *testing.T) {
	volume := func(device, root, point string) fake {
		return fake{"user", ordinary, containerMounts + "200 100 " + device + " " + root + " " + point + " rw - ext4 /dev/x rw\n"}
	}
	readOnly := func(f fake) fake {
		f.mounts = strings.Replace(f.mounts, " rw - ext4 /dev/x", " ro - ext4 /dev/x", 1)
		return f
	}
	privileged := strings.Replace(containerMounts, "/sys ro,nosuid - sysfs sysfs ro", "/sys rw,nosuid - sysfs sysfs rw", 1)
	for name, test := range map[string]struct {
		process fake
		allowed power.Allowed
		want    string // in the refusal; empty for none
	}{
		"none":                       {process: fake{"user", ordinary, containerMounts}},
		"hostPID":                    {process: fake{"user pid", ordinary, containerMounts}, want: "shares the node's process IDs (hostPID); the node agent does not attach to it. To allow that, start the node agent with --allow-host-pid."},
		"hostPID, allowed":           {process: fake{"user pid", ordinary, containerMounts}, allowed: power.Allowed{"allow-host-pid": nil}},
		"hostNetwork":                {process: fake{"user net", ordinary, strings.Replace(containerMounts, "0:64", "0:21", 1)}, want: "with --allow-host-network."},
		"hostNetwork, allowed":       {process: fake{"user net", ordinary, strings.Replace(containerMounts, "0:64", "0:21", 1)}, allowed: power.Allowed{"allow-host-network": nil}},
		"hostIPC":                    {process: fake{"user ipc", ordinary, containerMounts}, want: "with --allow-host-ipc."},
		"hostIPC, allowed":           {process: fake{"user ipc", ordinary, strings.NewReplacer("0:51", "0:25", "0:63", "0:26").Replace(containerMounts)}, allowed: power.Allowed{"allow-host-ipc": nil}},
		"privileged":                 {process: fake{"user", all, privileged}, want: "is privileged; the node agent does not attach to it. To allow that, start the node agent with --allow-privileged."},
		"privileged, allowed":        {process: fake{"user", all, privileged + "118 105 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"}, allowed: power.Allowed{"allow-privileged": nil}},
		"all capabilities":           {process: fake{"user", all, containerMounts}, want: "--allow-capabilities=DAC_READ_SEARCH,"},
		"all capabilities, allowed":  {process: fake{"user", all, containerMounts}, allowed: power.Allowed{"allow-capabilities": {"ALL"}}},
		"one capability":             {process: fake{"user", "00000000a82c25fb", containerMounts}, want: "has capabilities with power over the node (SYS_PTRACE, SYS_ADMIN)"},
		"a capability of the future": {process: fake{"user", "80000000a80425fb", containerMounts}, want: "(CAPABILITY_63)"},
		"in a user namespace":        {process: fake{"", all, privileged}},
		"hostPath of an application": {process: volume("8:16", "/app", "/app")},
		"hostPath /etc":              {process: volume("8:1", "/etc", "/host/etc"), want: "mounts hostPath volumes of the node's system (/etc)"},
		"hostPath /etc, allowed":     {process: volume("8:1", "/etc", "/host/etc"), allowed: power.Allowed{"allow-host-paths": {"/etc"}}},
		"hostPath /usr":              {process: volume("8:1", "/usr", "/host/usr"), want: "(/usr)"},
		"hostPath /usr, read-only":   {process: readOnly(volume("8:1", "/usr", "/host/usr"))},
		"hostPath /":                 {process: volume("8:1", "/", "/host"), want: "(/)"},
		"hostPath /proc":             {process: volume("0:22", "/", "/host/proc"), want: "(/proc)"},
		"hostPath /sys":              {process: volume("0:21", "/", "/sys"), want: "(/sys)"},
		"hostPath of control groups": {process: fake{"user", ordinary, containerMounts + "200 100 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"}, want: "(/sys/fs/cgroup)"},
		"a socket of the runtime":    {process: volume("0:23", "/containerd/containerd.sock", "/run/containerd.sock"), want: "(/run/containerd/containerd.sock)"},
		"a device":                   {process: volume("0:6", "/sda", "/dev/sda"), want: "(/dev/sda)"},
		"a default device":           {process: volume("0:6", "/full", "/dev/full")},
		"a subPath of a hostPath":    {process: volume("8:1", "/etc/kubernetes", "/x"), want: "/etc/kubernetes"},
		"volumes of another pod":     {process: volume("8:1", "/var/lib/kubelet/pods/x"+uid+"/volumes/a", "/x"), want: "(/var/lib/kubelet/pods/x" + uid + "/volumes/a)"},
		"the kubelet's directory":    {process: volume("8:1", "/var/lib/kubelet", "/etc/hosts"), want: "(/var/lib/kubelet)"},
		"the runtime's directory":    {process: volume("8:1", "/var/lib/containerd", "/etc/hostname"), want: "(/var/lib/containerd)"},
		"a bind mount of its own":    {process: volume("0:50", "/usr", "/newroot/usr")},
		"its own, without its root":  {process: fake{"user", ordinary, "100 99 0:99 / / rw - tmpfs tmpfs rw\n101 100 0:50 /usr /usr rw - overlay overlay rw\n"}},
		"of another's root":          {process: volume("0:53", "/usr", "/x"), want: "(/run/containerd/other/rootfs/usr)"},
		"hostPath / as its root":     {process: fake{"user", ordinary, "100 99 8:1 / / rw - ext4 /dev/sda1 rw\n"}, want: "(/)"},
		"another's /etc/hostname":    {process: volume("8:1", sandbox+"decade"+idEnd+"/hostname", "/x"), want: "/hostname)"},
		"its /etc/hostname again":    {process: volume("8:1", sandbox+id+"/hostname", "/newroot/etc/hostname")},
		"another's secrets":          {process: volume("8:1", "/var/lib/containers/storage/overlay-containers/"+id+"/userdata/run/secrets", "/x"), want: "/run/secrets)"},
		"secrets of CRI-O":           {process: volume("8:1", "/var/lib/containers/storage/overlay-containers/"+id+"/userdata/run/secrets", "/run/secrets")},
		"another's shared memory":    {process: volume("0:54", "/", "/x"), want: "/shm)"},
		"its control group again":    {process: fake{"user", ordinary, containerMounts + "200 100 0:24 /../../kubepods-burstable-pod0f3f5a6e_1111_4222_8333_444455556666.slice/cri-containerd-" + id + ".scope /newroot/sys/fs/cgroup rw - cgroup2 cgroup rw\n"}},
		"hostIPC, and a path":        {process: fake{"user ipc", ordinary, strings.Replace(containerMounts, "0:51 / /dev/shm rw - tmpfs", "8:1 /etc /dev/shm rw - ext4", 1)}, allowed: power.Allowed{"allow-host-ipc": nil}, want: "(/etc)"},
		"hostIPC, and a tmpfs":       {process: fake{"user ipc", ordinary, strings.Replace(containerMounts, "0:51 / /dev/shm rw - tmpfs", "0:23 / /dev/shm rw - tmpfs", 1)}, allowed: power.Allowed{"allow-host-ipc": nil}, want: "(/run)"},
		"two":                        {process: fake{"user net pid", ordinary, containerMounts}, want: "To allow that, start the node agent with --allow-host-pid and --allow-host-network."},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
			fake{"user", ordinary, containerMounts}.write(t, proc, 6)
			test.process.write(t, proc, 7)
			_, found, err := Proc(proc).Powers([]int{6, 7, 8}, uid) // 8 has exited
			if err != nil {
				t.Fatal(err)
			}
			got := test.allowed.Refusal("It", "the node agent", found)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What cannot be seen is not assumed to be harmless.
func TestPowersUnknown(t *testing.T) {
	for name, hide := range map[string]string{"the node": "1/ns/net", "its mounts": "1/mountinfo", "a process": "7/ns/pid", "its capabilities": "7/status"} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
			fake{"user", ordinary, containerMounts}.write(t, proc, 7)
			if err := os.Remove(filepath.Join(proc, hide)); err != nil {
				t.Fatal(err)
			}
			if _, found, err := Proc(proc).Powers([]int{7}, uid); err == nil {
				t.Errorf("found %+v", found)
			}
		})
	}
	proc := t.TempDir()
	fake{"user pid net ipc mnt", all, nodeMounts}.write(t, proc, 1)
	var pids []int
	for pid := 2; pid < maxNamespaces+4; pid++ {
		fake{"user", ordinary, containerMounts}.write(t, proc, pid)
		pids = append(pids, pid)
	}
	if _, _, err := Proc(proc).Powers(pids, uid); err == nil {
		t.Error("any number of mount namespaces is looked at")
	}
}

func TestParseMounts(t *testing.T) {
	got := parseMounts("36 35 98:0 /a\\040b /mnt2//deleted ro,noatime master:1 - ext3 /dev/root rw\nbroken\n37 35 0:5 /x//deleted /y rw - tmpfs\n")
	want := []mount{{"98:0", "/a b", "/mnt2//deleted", "ext3", true}, {"0:5", "/x", "/y", "tmpfs", false}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mount{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package node

import (
	"path"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// mount is a line of proc_pid_mountinfo(5).
type mount struct {
	// device is that of the file system, root the path in it that is mounted, and point where.
	device, root, point string
	// kind is the type of the file system.
	kind     string
	readOnly bool
}

// parseMounts parses proc_pid_mountinfo(5).
func parseMounts(mountinfo string) (mounts []mount) {
	for line := range strings.Lines(mountinfo) {
		head, tail, _ := strings.Cut(line, " - ")
		fields, source := strings.Fields(head), strings.Fields(tail)
		if len(fields) < 6 || len(source) < 1 {
			continue
		}
		options := strings.Split(fields[5], ",")
		if len(source) > 2 {
			options = append(options, strings.Split(source[2], ",")...)
		}
		mounts = append(mounts, mount{
			device: fields[2], root: strings.TrimSuffix(cgroup.Unescape(fields[3]), "//deleted"), point: cgroup.Unescape(fields[4]),
			kind: source[0], readOnly: slices.Contains(options, "ro"),
		})
	}
	return mounts
}

// place is a directory of a file system.
type place struct{ device, root string }

// above calls do with the place that a mount shows, and those above it, until it returns true;
// it reports whether it did.
func (m mount) above(do func(place) bool) bool {
	for root := path.Clean(m.root); ; root = path.Dir(root) {
		if do(place{m.device, root}) {
			return true
		}
		if root == path.Dir(root) {
			return false
		}
	}
}

// mountTable is where the node has mounted places. A container may have mounted thousands:
// they are not compared one by one.
type mountTable map[place][]mount

func index(mounts []mount) mountTable {
	node := mountTable{}
	for _, m := range mounts {
		at := place{m.device, path.Clean(m.root)}
		node[at] = append(node[at], m)
	}
	return node
}

// onNode returns the paths of the node at which a mount of a container is visible there, too:
// a hostPath volume is always, and a file system of the container's own never.
func onNode(m mount, node mountTable) (paths []string) {
	m.above(func(at place) bool {
		for _, n := range node[at] {
			paths = append(paths, path.Join(n.point, strings.TrimPrefix(m.root, strings.TrimSuffix(n.root, "/"))))
		}
		return false
	})
	return paths
}

// mounted is a container whose mounts are judged.
type mounted struct {
	podUID string
	// groups are the control groups of process 1 of the node.
	groups string
	// sharesPID, sharesNetwork and sharesIPC: a process shares these namespaces with the node.
	sharesPID, sharesNetwork, sharesIPC bool
	// privileged: the runtime gives it the node's control groups and devices.
	privileged bool
}

// hostPaths returns the paths of the node that a container has mounted and that give power
// over it. What the kubelet and the runtime mount into every container is none, and neither
// is what its processes mount of that at another place, as sandboxes do with their root
// directory.
func (c mounted) hostPaths(container []mount, node mountTable) (found []string) {
	own, seen, listed := made(container, node), map[mount]bool{}, map[string]bool{}
	for _, m := range container {
		if seen[m] || m.above(func(at place) bool { return own[at] }) {
			continue
		}
		seen[m] = true
		paths := onNode(m, node)
		if c.owns(m, paths) {
			continue
		}
		for _, p := range paths {
			if !listed[p] && power.Powerful(p, m.readOnly) {
				found, listed[p] = append(found, p), true
			}
		}
	}
	return found
}

// made returns what the runtime has made for the container: its root directory, and the files
// that it keeps for it.
func made(container []mount, node mountTable) map[place]bool {
	own := map[place]bool{}
	for _, m := range container {
		if slices.ContainsFunc(onNode(m, node), func(p string) bool { return m.point == "/" && inStore(m, p) || ofRuntime(m, p) }) {
			own[place{m.device, path.Clean(m.root)}] = true
		}
	}
	return own
}

// owns reports whether a mount belongs to the container, its pod or its namespaces, though
// the node sees it, too.
func (c mounted) owns(m mount, paths []string) bool {
	switch m.kind {
	case "cgroup", "cgroup2":
		place, ok := cgroup.PlaceOf("0::"+m.root+"\n", c.groups)
		return c.privileged && power.Covers("/sys/fs/cgroup", m.point) || ok && place.PodUID == c.podUID
	case "proc": // one file system for each namespace, of which the runtime protects parts by mounts of their own
		return c.sharesPID && power.Covers("/proc", m.point)
	case "sysfs":
		return (c.sharesNetwork || c.privileged) && power.Covers("/sys", m.point)
	case "mqueue":
		return c.sharesIPC && m.point == "/dev/mqueue"
	}
	if m.point == "/dev/shm" && c.sharesIPC && m.kind == "tmpfs" && slices.Contains(paths, "/dev/shm") {
		return true
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		return c.ofKubelet(p) || isDevice(p)
	})
}

// ofKubelet reports whether a path of the node is what the kubelet keeps for the pod: volumes,
// /etc/hosts, the termination log. A subPath of a hostPath volume is there, too, in
// volume-subpaths, and is not meant.
func (c mounted) ofKubelet(p string) bool {
	_, below, found := strings.Cut(p, "/pods/"+c.podUID+"/")
	kept, _, _ := strings.Cut(below, "/")
	return found && slices.Contains([]string{"volumes", "etc-hosts", "containers"}, kept)
}

// ofRuntime reports whether a path of the node is a file that the runtime keeps for one
// container or sandbox, below a directory that is named after its ID, and has mounted where it
// belongs: the ID of the sandbox is not known, and elsewhere it may be another container's.
func ofRuntime(m mount, p string) bool {
	const id = 64 // digits
	at := map[string]string{
		"hostname": "/etc/hostname", "hosts": "/etc/hosts", "resolv.conf": "/etc/resolv.conf",
		"shm": "/dev/shm", ".containerenv": "/run/.containerenv", "secrets": "/run/secrets",
	}
	return m.point == at[path.Base(p)] && slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(name string) bool {
		return len(name) == id && strings.Trim(name, "0123456789abcdef") == ""
	})
}

// isDevice reports whether a path of the node is one of the devices that every container has
// (OCI runtime specification, "Default Devices"): a runtime without privileges mounts them.
func isDevice(p string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console", "/dev/ptmx"}, p) ||
		path.Dir(p) == "/dev/pts" // the terminal of one container
}

// inStore reports whether a container's root directory is where runtimes keep these: what is
// mounted there. A process may also have changed its root directory to a hostPath volume, on
// nodes whose own root directory, or another one, is an overlay.
func inStore(m mount, p string) bool {
	stores := []string{
		"/run/containerd", "/run/containers", "/run/docker", "/run/k0s", "/run/k3s", "/var/lib/containerd", "/var/lib/containers",
		"/var/lib/crio", "/var/lib/docker", "/var/lib/k0s", "/var/lib/rancher", "/var/snap",
	}
	whole := m.kind == "overlay" && m.root == "/" && slices.Contains([]string{"rootfs", "merged"}, path.Base(p))
	return whole || slices.ContainsFunc(stores, func(store string) bool { return power.Covers(store, p) && store != p })
}

package power

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// SystemPath is a path on nodes that decides whether a hostPath volume gives power over the
// node. The closest one at or above the volume's path counts; a volume above one includes
// it.
type SystemPath struct {
	Path   string
	Access Access
}

// Access is what a container must be able to do with a path to have power over the node.
type Access string

const (
	// AccessRead is enough for secrets of the node and of other pods, and for sockets and
	// devices, which a read-only mount does not protect.
	AccessRead Access = "read"
	// AccessWrite is needed for programs and certificate authorities, which are no secrets.
	AccessWrite Access = "write"
	// AccessNone is for paths below others that give no power.
	AccessNone Access = "none"
)

// SystemPaths returns the paths of the node's own system: of the Filesystem Hierarchy
// Standard, of kubelets and container runtimes, and of what starts programs as root. All
// other paths count as data of applications.
func SystemPaths() []SystemPath {
	return slices.Concat(
		at(AccessRead,
			"/boot", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/mnt/stateful_partition", "/sysroot",
			"/var/lib/cloud", "/var/lib/cni", "/var/lib/containerd", "/var/lib/containers", "/var/lib/crio", "/var/lib/docker",
			"/var/lib/dpkg", "/var/lib/etcd", "/var/lib/k0s", "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/rpm", "/var/lib/systemd",
			// The kubelet serves these as root, also what links there lead to.
			"/var/log/containers", "/var/log/journal", "/var/log/pods",
			"/var/snap", "/var/spool",
			// Of Fedora and RHEL CoreOS, and of kOps, minikube, TKGI and others.
			"/var/home", "/var/roothome", "/srv/kubernetes", "/var/lib/kubernetes", "/var/lib/minikube", "/var/vcap"),
		at(AccessWrite,
			"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr", "/nix", "/opt/bin", "/opt/cni", "/opt/containerd", "/snap",
			"/etc/pki/ca-trust", "/etc/pki/java", "/etc/pki/tls/certs", "/etc/ssl/certs", "/ostree", "/var/usrlocal"),
		at(AccessNone, "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero", "/etc/localtime", "/etc/timezone"),
	)
}

func at(access Access, paths ...string) []SystemPath {
	var all []SystemPath
	for _, p := range paths {
		all = append(all, SystemPath{p, access})
	}
	return all
}

// Powerful reports whether a mount of a path gives power over the node.
func Powerful(mounted string, readOnly bool) bool {
	mounted = resolved(mounted)
	closest := SystemPath{Access: AccessNone}
	for _, p := range SystemPaths() {
		if Covers(mounted, p.Path) && p.gives(readOnly) {
			return true
		}
		if Covers(p.Path, mounted) && len(p.Path) > len(closest.Path) {
			closest = p
		}
	}
	return closest.gives(readOnly)
}

func (p SystemPath) gives(readOnly bool) bool {
	return p.Access == AccessRead || p.Access == AccessWrite && !readOnly
}

// resolved returns a path without the link that all nodes have.
func resolved(p string) string {
	if rest, ok := strings.CutPrefix(p, "/var/run"); ok && (rest == "" || rest[0] == '/') {
		return "/run" + rest
	}
	return p
}

func parsePath(value string) (string, error) {
	if !path.IsAbs(value) {
		return "", fmt.Errorf("%q is not an absolute path", value)
	}
	return path.Clean(value), nil
}

func coversPath(listed, found string) bool { return Covers(resolved(listed), resolved(found)) }

// Covers reports whether dir is other or one of its parents.
func Covers(dir, other string) bool {
	dir, other = path.Clean(dir), path.Clean(other)
	return dir == "/" || dir == other || strings.HasPrefix(other, dir+"/")
}

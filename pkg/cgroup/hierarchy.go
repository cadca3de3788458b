package cgroup

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/pseudofs"
)

// maxFile limits what is read of a file, in bytes: the mounts of a node are the longest, some
// for each container.
const maxFile = 16 << 20

// files is the directory under which proc and the hierarchies are mounted.
type files string

// visible returns the groups of process pid for a controller, with those above them, as far
// as they are visible: where this process has them mounted, and where process pid has,
// which may be in another container of the pod. That requires permission to access its
// root (ptrace(2)).
func (fs files) visible(pid int, controller string) []group {
	process := strconv.Itoa(pid)
	return append(fs.mounted(pid, "self", "", controller), fs.mounted(pid, process, path.Join("proc", process, "root"), controller)...)
}

// mounted returns the groups of process pid through the mounts of process mounter, whose
// root directory is root.
func (fs files) mounted(pid int, mounter, root, controller string) (found []group) {
	groups, err := fs.read("proc", strconv.Itoa(pid), "cgroup")
	if err != nil {
		return nil
	}
	mounts, err := fs.read("proc", mounter, "mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(mounts) {
		mount, ok := parseMount(line, controller)
		if !ok {
			continue
		}
		name, visible := relative(groupIn(groups, mount.version, controller), mount.root)
		for visible {
			found = append(found, group{fs: fs, version: mount.version, root: root, dir: path.Join(mount.point, name)})
			visible, name = name != "/", path.Dir(name)
		}
	}
	return found
}

// version is the version of a hierarchy.
type version int

const (
	v1 version = 1 + iota
	v2
)

// mount is the mount of a hierarchy that may have a controller.
type mount struct {
	version version
	// root is the group that is mounted, and point the mount point.
	root, point string
}

// parseMount parses a line of proc_pid_mountinfo(5). ok is false if it is not a hierarchy
// for the controller. A hybrid system has one hierarchy of each version, with the
// controller in one of them: the other one has none of the files.
func parseMount(line, controller string) (m mount, ok bool) {
	head, tail, found := strings.Cut(line, " - ")
	if !strings.HasPrefix(tail, "cgroup") { // most mounts of a node
		return mount{}, false
	}
	fields, source := strings.Fields(head), strings.Fields(tail)
	if !found || len(fields) < 6 || len(source) < 3 {
		return mount{}, false
	}
	m.root, m.point = Unescape(fields[3]), Unescape(fields[4])
	switch {
	case source[0] == "cgroup2":
		m.version = v2
	case source[0] == "cgroup" && hasController(source[2], controller):
		m.version = v1
	default:
		return mount{}, false
	}
	return m, true
}

// hasController reports whether a comma-separated list contains a controller.
func hasController(list, controller string) bool {
	return slices.Contains(strings.Split(list, ","), controller)
}

// Unescape decodes the escapes of spaces, tabs, newlines and backslashes in
// proc_pid_mountinfo(5).
func Unescape(name string) string {
	if !strings.Contains(name, `\`) {
		return name
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(name)
}

// groupIn returns the group of a process in the hierarchy of a version and controller, from
// the lines hierarchy-ID:controllers:path of proc_pid_cgroup(5); empty if there is none.
func groupIn(groups string, of version, controller string) string {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if of == v2 && fields[0] == "0" && fields[1] == "" || of == v1 && hasController(fields[1], controller) {
			return fields[2]
		}
	}
	return ""
}

// relative returns the path of a group below the mounted one. A group elsewhere is not
// visible, such as one outside our cgroup namespace, whose path begins with /.. .
func relative(group, root string) (below string, visible bool) {
	below, found := strings.CutPrefix(group, strings.TrimSuffix(root, "/"))
	if below == "" {
		below = "/"
	}
	return below, group != "" && found && below == path.Clean(below) && below[0] == '/'
}

// group is a control group as it is mounted in some process.
type group struct {
	fs      files
	version version
	// root is the root directory of a process that has the group mounted; empty for this
	// process' own.
	root, dir string
}

// unlimited stands for "max", for its equivalent in version 1 (the largest multiple of
// the page size), and for missing values.
const unlimited int64 = 1 << 62

// number reads a file that contains a number.
func (g group) number(name string) int64 {
	content, err := g.read(name)
	if err != nil {
		return unlimited
	}
	return parse(content)
}

func parse(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 {
		return unlimited
	}
	return min(n, unlimited)
}

// read reads a file of the group. No link that another process created leads outside of
// its root.
func (g group) read(name string) (string, error) {
	if g.root == "" {
		return g.fs.read(g.dir, name)
	}
	f, err := os.OpenInRoot(filepath.Join(string(g.fs), g.root), strings.TrimPrefix(path.Join(g.dir, name), "/"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(content), err
}

func (fs files) read(names ...string) (string, error) {
	content, err := pseudofs.ReadFile(filepath.Join(append([]string{string(fs)}, names...)...), maxFile)
	return string(content), err
}

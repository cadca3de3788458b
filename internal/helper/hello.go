//go:build linux

package helper

import (
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// Hello describes the container of this process or, in a child of a node agent, the target.
func (h Helper) Hello() helperapi.Hello {
	if h.Target != nil {
		return h.helloOf(*h.Target)
	}
	// A source that cannot be read is omitted.
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	start, _ := jvm.StartTime(1)
	return helperapi.Hello{
		Version:       h.Version,
		ContainerID:   containerID(string(mounts), string(groups)),
		Instance:      instance(string(mounts)),
		InitStartTime: start,
		Files:         slices.Collect(maps.Keys(h.Beside)),
		OptionNames:   true,
	}
}

// helloOf describes a container of the node, which has no process any more if its start time
// is 0.
func (h Helper) helloOf(target helperapi.NodeTarget) helperapi.Hello {
	hello := helperapi.Hello{Version: h.Version, ContainerID: target.ContainerID, Files: slices.Collect(maps.Keys(h.Beside)), OptionNames: true}
	processes, _ := jvm.InPod(target.PodUID, target.ContainerID).Processes() // as those of a container that has exited
	for _, p := range processes {
		if p.PIDIn() == 1 {
			hello.InitStartTime = p.StartTime
		}
	}
	return hello
}

var (
	// groupID matches a container ID in the last element of a control group's path:
	// alone, or after the runtime's name (systemd).
	groupID = regexp.MustCompile(`(?:^|[-:])([0-9a-f]{64})(?:\.scope)?$`)
	// environmentFile matches the file that CRI-O mounts at /run/.containerenv.
	environmentFile = regexp.MustCompile(`/overlay-containers/([0-9a-f]{64})/userdata/\.containerenv$`)
	// terminationLog matches the file that the kubelet mounts as the container's
	// termination log.
	terminationLog = regexp.MustCompile(`/pods/[^/]+/containers/([^/]+/[0-9a-f]{8})$`)
)

// containerID returns the container ID in the paths of the control groups and of CRI-O's
// environment file. It ignores the files that containerd and Docker mount at
// /etc/hostname and /etc/resolv.conf, which show the ID of the pod's sandbox. If the
// sources disagree, it returns an empty ID.
func containerID(mountinfo, cgroup string) string {
	var found string
	agree := func(id string) bool {
		if found == "" {
			found = id
		}
		return id == "" || id == found
	}
	for line := range strings.Lines(cgroup) { // hierarchy:controllers:path, cgroups(7)
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 && !agree(idInGroup(parts[2])) {
			return ""
		}
	}
	for root, kind := range mounts(mountinfo) {
		var id string
		if kind == "cgroup" || kind == "cgroup2" {
			id = idInGroup(root)
		} else if match := environmentFile.FindStringSubmatch(root); match != nil {
			id = match[1]
		}
		if !agree(id) {
			return ""
		}
	}
	return found
}

// idInGroup returns the innermost container ID in a control group's path: a node may
// itself be a container.
func idInGroup(path string) (id string) {
	for part := range strings.SplitSeq(path, "/") {
		if match := groupID.FindStringSubmatch(part); match != nil {
			id = match[1]
		}
	}
	return id
}

func instance(mountinfo string) string {
	for root := range mounts(mountinfo) {
		if match := terminationLog.FindStringSubmatch(root); match != nil {
			return match[1]
		}
	}
	return ""
}

// mounts yields the mounts in proc_pid_mountinfo(5): the path within the file system, and
// the file system's type.
func mounts(mountinfo string) iter.Seq2[string, string] {
	return func(yield func(root, kind string) bool) {
		for line := range strings.Lines(mountinfo) {
			mount, source, _ := strings.Cut(line, " - ")
			fields, from := strings.Fields(mount), strings.Fields(source)
			if len(fields) > 3 && len(from) > 0 && !yield(fields[3], from[0]) {
				return
			}
		}
	}
}

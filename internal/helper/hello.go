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

// Hello is what can be said of the container that this process is in.
func (dir Helper) Hello() helperapi.Hello {
	// What cannot be read leaves its witness out.
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	start, _ := jvm.StartTime(1)
	return helperapi.Hello{
		Version:       dir.Version,
		ContainerID:   containerID(string(mounts), string(groups)),
		Instance:      instance(string(mounts)),
		InitStartTime: start,
		Files:         slices.Collect(maps.Keys(dir.Beside)),
	}
}

var (
	// groupID is a container's ID as the last part of a control group's path has it:
	// alone, or after the runtime's name (systemd).
	groupID = regexp.MustCompile(`(?:^|[-:])([0-9a-f]{64})(?:\.scope)?$`)
	// environmentFile is what CRI-O mounts at /run/.containerenv.
	environmentFile = regexp.MustCompile(`/overlay-containers/([0-9a-f]{64})/userdata/\.containerenv$`)
	// terminationLog is what the kubelet mounts for the container's last words.
	terminationLog = regexp.MustCompile(`/pods/[^/]+/containers/([^/]+/[0-9a-f]{8})$`)
)

// containerID reads a container's ID from the paths of its control groups. The
// files that containerd and Docker mount at /etc/hostname and /etc/resolv.conf
// show another one: that of the pod's sandbox. Witnesses that disagree are none.
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

// idInGroup is the innermost container of a control group: a node may be one itself.
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

// mounts yields what is mounted: the path within its file system, and the kind of that
// (proc_pid_mountinfo(5)).
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

package cgroup

import (
	"slices"
	"strings"
)

// Place is where the kubelet and a container runtime have put a process: below the control
// group of a pod, in that of a container.
type Place struct {
	// PodUID is the UID under which the kubelet runs the pod.
	PodUID string
	// name is that of the container's control group.
	name string
}

// PlaceOf returns the place of a process from its control groups (proc_pid_cgroup(5)). node
// are those of process 1 of the node. It is false for a process in no container of a pod.
//
// The kubelet names the group of a pod pod<UID> or, with systemd, …-pod<UID>.slice; the runtime
// has that of the container directly below it. Further down, a container may name groups as it
// likes: the outermost pod counts. A node may itself be a container of a pod: what all paths
// have in common with those of its process 1 does not count. Where this process has a control
// group namespace, paths begin with /.. and lack what is above (cgroup_namespaces(7)); those of
// its own pod lack the pod.
func PlaceOf(groups, node string) (place Place, ok bool) {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		found, below := placeIn(belowNode(fields, node))
		switch {
		case !below: // kubelets do not use every hierarchy of version 1
		case found.name == "" || ok && found != place: // between containers, or in two at once
			return Place{}, false
		default:
			place, ok = found, true
		}
	}
	return place, ok
}

// belowNode returns the names in the path of a group, without those that it has in common with
// the group of process 1 in the same hierarchy.
func belowNode(fields []string, node string) []string {
	names := strings.Split(strings.Trim(fields[2], "/"), "/")
	for line := range strings.Lines(node) {
		of := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(of) != 3 || of[0] != fields[0] || of[1] != fields[1] {
			continue
		}
		for name := range strings.SplitSeq(strings.Trim(of[2], "/"), "/") {
			if len(names) == 0 || names[0] != name {
				break
			}
			names = names[1:]
		}
	}
	return names
}

// placeIn returns the place of the outermost pod; below is false if there is none, and the
// name is empty if no container's group is below it.
func placeIn(names []string) (place Place, below bool) {
	for i, name := range names {
		// containerd without SystemdCgroup below a kubelet with systemd's driver:
		// <slice of the pod>:cri-containerd:<ID>, in one name.
		if parts := strings.Split(name, ":"); len(parts) == 3 {
			name, names = parts[0], append(slices.Clone(names[:i+1]), parts[1]+"-"+parts[2])
		}
		uid, found := podOf(name)
		if !found {
			continue
		}
		place.PodUID = uid
		if i+1 < len(names) {
			place.name = names[i+1]
		}
		return place, true
	}
	return Place{}, false
}

// podOf returns the UID of the pod that a control group is named after.
func podOf(name string) (uid string, ok bool) {
	if slice, systemd := strings.CutSuffix(name, ".slice"); systemd { // which separates by dashes
		_, uid = cutLast(slice, "pod")
		uid = strings.ReplaceAll(uid, "_", "-")
		prefix := strings.TrimSuffix(slice, "pod"+strings.ReplaceAll(uid, "-", "_"))
		return uid, isUID(uid) && (prefix == "" || prefix != slice && strings.HasSuffix(prefix, "-"))
	}
	uid, ok = strings.CutPrefix(name, "pod")
	return uid, ok && isUID(uid)
}

// cutLast cuts a text around the last separator.
func cutLast(text, separator string) (before, after string) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+len(separator):]
}

// isUID reports whether a text is the UID of a pod: 32 hexadecimal digits, which those of
// static pods have without dashes.
func isUID(text string) bool {
	const digits = 32
	return strings.Trim(text, "0123456789abcdefABCDEF-") == "" && len(strings.ReplaceAll(text, "-", "")) == digits
}

// In reports whether the place is the container with an ID. Runtimes name its control group
// after the ID: <ID>, <runtime>-<ID> or, with systemd, <runtime>-<ID>.scope. CRI-O may have
// the monitor of a container, a process of the node, beside it: crio-conmon-<ID>.scope.
func (p Place) In(id string) bool {
	runtime, ok := strings.CutSuffix(strings.TrimSuffix(p.name, ".scope"), id)
	return ok && id != "" && (runtime == "" || strings.HasSuffix(runtime, "-") && !strings.Contains(runtime, "conmon"))
}

//go:build linux

package jvm

import "banzaicloud.com/jmx-exporter-operator/pkg/cgroup"

// PlaceOf returns the place of process pid in the control groups of the node; ok is false if
// it is in no container of a pod.
func PlaceOf(pid int) (place cgroup.Place, ok bool) {
	groups, err := readProc(pid, "cgroup")
	if err != nil {
		return place, false
	}
	node, err := readProc(1, "cgroup")
	if err != nil {
		return place, false
	}
	return cgroup.PlaceOf(string(groups), string(node))
}

// contains reports whether process pid is in the container, which InPod made.
func (c Container) contains(pid int) bool {
	podUID, id, _ := c.pod()
	place, ok := PlaceOf(pid)
	return ok && place.PodUID == podUID && place.In(id)
}

//go:build linux

package jvm

import (
	"os"
	"slices"
	"sync"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
)

// PlaceOf returns the place of process pid in the control groups of the node; ok is false if
// it is in no container of a pod.
func PlaceOf(pid int) (place cgroup.Place, ok bool) { return placeOf(pid, nodeGroups()) }

// nodeGroups returns the control groups of process 1 of the node.
func nodeGroups() string {
	groups, err := readProc(1, "cgroup")
	if err != nil {
		return ""
	}
	return string(groups)
}

func placeOf(pid int, node string) (place cgroup.Place, ok bool) {
	groups, err := readProc(pid, "cgroup")
	if err != nil || node == "" { // without the node's, a pod within a pod could pretend
		return place, false
	}
	return cgroup.PlaceOf(string(groups), node)
}

// Placed returns the processes in the containers of a pod, by their IDs.
func Placed(podUID string) (map[int]cgroup.Place, error) {
	pids, err := processIDs()
	if err != nil {
		return nil, err
	}
	node := nodeGroups()
	placed := map[int]cgroup.Place{}
	for _, pid := range pids {
		if place, ok := placeOf(pid, node); ok && place.PodUID == podUID {
			placed[pid] = place
		}
	}
	return placed, nil
}

// contains reports whether process pid is in the container, which InPod made.
func (c Container) contains(pid int) bool { return c.containsBelow(pid, nodeGroups()) }

func (c Container) containsBelow(pid int, node string) bool {
	podUID, id, _ := c.pod()
	place, ok := placeOf(pid, node)
	return ok && place.PodUID == podUID && place.In(id) && !Entering(pid)
}

// Entering reports whether process pid sees the node's files: in a container's control groups,
// it is the runtime's, on its way into the container. The runtime joins these first (runc's
// setns process, for each exec and each probe by exec), and the files of the node are still its
// own then.
func Entering(pid int) bool {
	theirs, err := os.Readlink(procPath(pid, "ns/mnt"))
	if err != nil {
		return false // this thread could not reach its files either
	}
	node, err := os.Readlink(procPath(1, "ns/mnt"))
	return err == nil && theirs == node
}

// scanAge is for how long the processes found in a container are its only ones. A JVM takes
// longer to start: see startAge.
const scanAge = time.Second

// scanned are the processes that were found in the last container: a node has thousands, of
// which an operation would read the control groups several times.
var scanned struct {
	sync.Mutex
	in   Container
	pids []int
	at   time.Time
}

// pids returns the IDs of processes, ascending, among which are those of the container, if
// they run.
func (c Container) pids() ([]int, error) {
	if !c.OnNode() {
		return processIDs()
	}
	scanned.Lock()
	defer scanned.Unlock()
	if scanned.in == c && time.Since(scanned.at) < scanAge {
		return slices.Clone(scanned.pids), nil
	}
	at := time.Now()
	pids, err := c.scan()
	if len(pids) > 0 {
		scanned.in, scanned.pids, scanned.at = c, slices.Clone(pids), at
	}
	return pids, err
}

// scan returns what pids does, of this moment, for what is sought in any process: only a JVM
// takes its time to start.
func (c Container) scan() ([]int, error) {
	pids, err := processIDs()
	if err != nil || !c.OnNode() {
		return pids, err
	}
	node := nodeGroups()
	return slices.DeleteFunc(pids, func(pid int) bool { return !c.containsBelow(pid, node) }), nil
}

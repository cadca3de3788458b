//go:build linux

package jvm

import (
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
)

// PlaceOf returns the place of process pid in the control groups of the node; ok is false if
// it is in no container of a pod.
func PlaceOf(pid int) (place cgroup.Place, ok bool) { return placeOf(pid, nodeGroups()) }

// groupsOfNode are what nodeGroups found: an init does not leave its control groups.
var groupsOfNode atomic.Pointer[string]

// nodeGroups returns the control groups of process 1 of the node.
func nodeGroups() string {
	if known := groupsOfNode.Load(); known != nil {
		return *known
	}
	groups, err := readProc(1, "cgroup")
	if err != nil {
		return ""
	}
	text := string(groups)
	groupsOfNode.Store(&text)
	return text
}

func placeOf(pid int, node string) (place cgroup.Place, ok bool) {
	groups, err := readProc(pid, "cgroup")
	if err != nil || node == "" { // without the node's, a pod within a pod could pretend
		return place, false
	}
	return cgroup.PlaceOf(string(groups), node)
}

// Placed returns the processes in the containers of a pod, by their IDs, as they are now.
func Placed(podUID string) (map[int]cgroup.Place, error) {
	at := time.Now()
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
	scanned.Lock()
	defer scanned.Unlock()
	scanned.podUID, scanned.placed, scanned.at = podUID, placed, at
	return maps.Clone(placed), nil
}

// contains reports whether process pid is in the container, which InPod made.
func (c Container) contains(pid int) bool {
	podUID, id, _ := c.pod()
	place, ok := placeOf(pid, nodeGroups())
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

// scanned are the processes that were found in the last pod: a node has thousands, of which an
// operation would read the control groups several times.
var scanned struct {
	sync.Mutex
	podUID string
	placed map[int]cgroup.Place
	at     time.Time
}

// pids returns the IDs of processes, ascending, among which are those of the container, if
// they run.
func (c Container) pids() ([]int, error) {
	podUID, _, onNode := c.pod()
	if !onNode {
		return processIDs()
	}
	scanned.Lock()
	var placed map[int]cgroup.Place
	if scanned.podUID == podUID && time.Since(scanned.at) < scanAge {
		placed = maps.Clone(scanned.placed)
	}
	scanned.Unlock()
	if pids := c.among(placed); len(pids) > 0 {
		return pids, nil
	}
	return c.scan()
}

// scan returns what pids does, of this moment, for what is sought in any process: only a JVM
// takes its time to start.
func (c Container) scan() ([]int, error) {
	podUID, _, onNode := c.pod()
	if !onNode {
		return processIDs()
	}
	placed, err := Placed(podUID)
	return c.among(placed), err
}

// among returns the processes of a pod that are in the container, ascending.
func (c Container) among(placed map[int]cgroup.Place) []int {
	_, id, _ := c.pod()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(placed)), func(pid int) bool { return !placed[pid].In(id) || Entering(pid) })
}

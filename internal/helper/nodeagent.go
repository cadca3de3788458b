//go:build linux

package helper

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/node"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// NodeAgent decides which containers of its node a node agent serves, whatever it is asked.
// It is safe for concurrent use.
type NodeAgent struct {
	// Allowed are the powers over the node that a container may have: those of the agent's
	// flags, for which see power.OfNode and Allowed.BindFlags.
	Allowed power.Allowed
}

// Check returns why a node agent does not serve a container, a *helperapi.Error; nil if it
// does. The process must see all processes of the node (hostPID), with CAP_SYS_PTRACE. A
// refusal may take the time of all looks.
func (a NodeAgent) Check(target helperapi.NodeTarget) (refusal error) {
	if err := checkTarget(target); err != nil {
		return err
	}
	for look := range looks {
		if look > 0 {
			lookAgain()
		}
		var final bool
		if final, refusal = a.look(target); final {
			return refusal
		}
	}
	return refusal
}

// looks is how often a process that the runtime may have enter the container, as for a probe by
// exec, has to be seen to count: for some milliseconds, it still has the node's namespaces and
// capabilities, and, while it ends, none that are visible.
const looks = 4

// lookAgain waits until the next look. A variable for a test.
var lookAgain = func() { time.Sleep(100 * time.Millisecond) }

// look is Check, once. It is final unless another look may find no reason to refuse.
func (a NodeAgent) look(target helperapi.NodeTarget) (final bool, refusal error) {
	own, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return true, typed(err)
	}
	if inPod(string(own), target.PodUID) {
		return true, helperapi.Errorf(helperapi.ReasonNodeAgentRefused, "The pod is the node agent's own; no flag allows attaching to it.")
	}
	pids, err := processesWith(target)
	if err != nil {
		return true, typed(err)
	}
	if len(pids) == 0 {
		return true, helperapi.Errorf(helperapi.ReasonProcessGone, "No process of the container runs any more.")
	}
	settled, found, err := proc.Powers(pids, target.PodUID)
	if errors.Is(err, node.ErrLimit) {
		return false, unsettled("What power the container has over the node is not determined: %v. A container whose processes have fewer is served.", err)
	}
	if err != nil {
		return false, unsettled("What power the container has over the node cannot be determined: %v. The node agent takes hostPID, the capability SYS_PTRACE, and no AppArmor profile or security module that hides the node's processes.", err)
	}
	if refusal := a.refusal(settled); refusal != nil {
		return true, refusal
	}
	refusal = a.refusal(found)
	return refusal == nil, refusal
}

// unsettled is a refusal of what cannot be seen, which is no property of the container: a right
// of the agent is missing, or the container has more than is looked at now.
func unsettled(format string, args ...any) *helperapi.Error {
	refusal := helperapi.Errorf(helperapi.ReasonNodeAgentRefused, format, args...)
	refusal.Unsettled = true
	return refusal
}

// refusal returns why a container with these powers is not served; nil if it is.
func (a NodeAgent) refusal(found []power.Found) error {
	refusal := a.Allowed.Refusal("The container, or one that shares its process IDs,", "the node agent", found)
	if refusal == "" {
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonNodeAgentRefused, "%s", refusal)
}

// proc is where the processes of the node are visible.
const proc = node.Proc("/proc")

// processesWith returns the processes of a container, ascending, and with them those of other
// containers of its pod that share its process IDs: each reaches the files and the memory of
// the others. It returns none if the container has none.
func processesWith(target helperapi.NodeTarget) ([]int, error) {
	placed, err := jvm.Placed(target.PodUID)
	if err != nil {
		return nil, err
	}
	namespaces := map[string]bool{}
	for pid, place := range placed {
		if namespace, err := proc.PIDNamespace(pid); place.In(target.ContainerID) && err == nil {
			namespaces[namespace] = true
		}
	}
	var pids []int
	for _, pid := range slices.Sorted(maps.Keys(placed)) {
		namespace, err := proc.PIDNamespace(pid)
		if placed[pid].In(target.ContainerID) || err == nil && namespaces[namespace] {
			pids = append(pids, pid)
		}
	}
	if !slices.ContainsFunc(pids, func(pid int) bool { return placed[pid].In(target.ContainerID) }) {
		return nil, nil
	}
	return pids, nil
}

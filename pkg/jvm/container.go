package jvm

import "strings"

// Container is a container ID as the runtime has it; empty for the container of this
// process. One of a node, with its pod, is made by InPod.
type Container string

// InPod returns a container of a node that this process sees all of: its ID in the pod with
// this UID. Its processes are those in its control groups below the pod's (cgroup.PlaceOf).
// Neither may contain a slash.
func InPod(podUID, id string) Container { return Container(podUID + "/" + id) }

// pod returns the UID that InPod got, and the ID; onNode is false for other containers.
func (c Container) pod() (podUID, id string, onNode bool) { return strings.Cut(string(c), "/") }

// OnNode reports whether the container was made by InPod.
func (c Container) OnNode() bool {
	_, _, onNode := c.pod()
	return onNode
}

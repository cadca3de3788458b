package transport

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// Container identifies a container of one particular pod, and how to reach it.
type Container struct {
	Namespace string
	Pod       string
	// PodUID is the UID under which the kubelet runs the pod.
	PodUID types.UID
	Name   string
	// ID is the container runtime's ID, <scheme>://<ID>; empty accepts whichever
	// container runs under the name. If another one runs, since the pod's status is
	// stale, the operation fails with ReasonReplaced.
	ID string
	// Node is the node that the pod runs on; sessions are limited per node.
	Node string
	// Space limits how much may be written to the container's /tmp.
	Space pod.Space
	// Transport selects the dialer; empty means exec.
	Transport v1alpha1.Transport
	// Object is the pod as last observed. User is the JVM's user as found by an
	// inspection, if nothing else states it. Both are for a Door.
	Object *corev1.Pod
	User   *User
	// JVMUser is the user that the JVM is known to run as, for instance since it was
	// attached to by exec. A Door uses it if neither User, nor the kubelet, nor the pod's
	// spec states the user.
	JVMUser *User
	// Last allows a Door to add the last ephemeral container that a pod may have, which
	// is reserved for detaching.
	Last bool
	// Origin is the reason for the session, for the API server's audit log.
	Origin Origin
	// Transient makes the session leave nothing behind: when it ends, it removes the
	// files that it brought in.
	Transient bool
}

// User is the user and group that a process runs as.
type User struct{ UID, GID int64 }

// CheckSpace returns an *Error with ReasonStorageLimitTooLow unless there is room for twice
// the size of the files: the spec does not show what else is stored there.
func (c Container) CheckSpace(files ...Blob) error {
	needed := 2 * size(files)
	if c.Space.Bytes == 0 || needed <= c.Space.Bytes {
		return nil
	}
	return &Error{Reason: v1alpha1.ReasonStorageLimitTooLow, Message: fmt.Sprintf(
		"%s, above which the kubelet evicts the pod; attaching needs %d bytes of it, twice the size of its files. Raise the limit.", c.Space.Bound, needed)}
}

// containerKey identifies a container of one particular pod.
type containerKey struct {
	pod  types.UID
	name string
}

func (c Container) key() containerKey { return containerKey{c.PodUID, c.Name} }

// runtimeID returns the container's ID without its scheme.
func (c Container) runtimeID() string {
	_, id, _ := strings.Cut(c.ID, "://")
	return id
}

// matches reports whether a container that reports this ID may be c. It may be if either
// ID is unknown.
func (c Container) matches(id string) bool {
	want := c.runtimeID()
	return want == "" || id == "" || id == want
}

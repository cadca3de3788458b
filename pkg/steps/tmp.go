package steps

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// withTmp adds to a request what the helper cannot see of the container's /tmp.
func (s *Scope) withTmp(container string, r helperapi.Request) helperapi.Request {
	r.TmpMountedElsewhere = tmpMountedElsewhere(s.Pod, container)
	r.AllowSharedTmp = s.Exporter.Spec.AllowSharedTmp
	return r
}

// tmpMountedElsewhere reports whether others than the container's own processes can
// write to the volume that has its /tmp: another container of the pod, or the node.
// Whether they may is for the helper to see, by the directory's mode.
func tmpMountedElsewhere(pod *corev1.Pod, container string) bool {
	var mount *corev1.VolumeMount
	var others []corev1.VolumeMount
	for _, c := range mounters(pod) {
		if c.Name != container {
			others = append(others, c.VolumeMounts...)
			continue
		}
		mount = TmpMount(c.VolumeMounts)
	}
	if mount == nil { // it is the container's own file system
		return false
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == mount.Name && v.HostPath != nil {
			return true
		}
	}
	for _, m := range others {
		if m.Name == mount.Name && !m.ReadOnly && (covers(subPath(m), subPath(*mount)) || covers(subPath(*mount), subPath(m))) {
			return true
		}
	}
	return false
}

// TmpMount is the mount in which a container has the helper's directory in /tmp: the
// closest one above it. nil if that is the container's own file system.
func TmpMount(mounts []corev1.VolumeMount) *corev1.VolumeMount {
	var closest *corev1.VolumeMount
	for i, m := range mounts {
		if covers(m.MountPath, helperapi.AgentDirectory) && (closest == nil || len(m.MountPath) > len(closest.MountPath)) {
			closest = &mounts[i]
		}
	}
	return closest
}

// mounters are the containers that may run beside each other: init containers that
// have ended write no more.
func mounters(pod *corev1.Pod) []corev1.Container {
	all := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if sidecar(c) {
			all = append(all, c)
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		all = append(all, corev1.Container(c.EphemeralContainerCommon))
	}
	return all
}

// sidecar reports whether an init container runs beside the others.
func sidecar(c corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// subPath is the directory of the volume that is mounted, with a slash before it;
// one that the environment decides on may be any.
func subPath(m corev1.VolumeMount) string {
	if m.SubPathExpr != "" {
		return "/"
	}
	return path.Join("/", m.SubPath)
}

// covers reports whether a directory is another one or above it.
func covers(dir, other string) bool {
	dir, other = path.Clean(dir), path.Clean(other)
	return dir == "/" || dir == other || strings.HasPrefix(other, dir+"/")
}

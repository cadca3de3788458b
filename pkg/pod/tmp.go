package pod

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// TmpMountedElsewhere reports whether the volume of the container's /tmp is also
// writable from outside the container: by another container of the pod, or the node. The
// helper determines from the directory's mode whether they may write there.
func TmpMountedElsewhere(pod *corev1.Pod, container string) bool {
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
		if m.Name == mount.Name && !m.ReadOnly && (power.Covers(subPath(m), subPath(*mount)) || power.Covers(subPath(*mount), subPath(m))) {
			return true
		}
	}
	return false
}

// TmpMount returns the mount that contains the helper's directory in /tmp of a
// container: the closest one above it; nil for the container's own file system.
func TmpMount(mounts []corev1.VolumeMount) *corev1.VolumeMount {
	var closest *corev1.VolumeMount
	for i, m := range mounts {
		if power.Covers(m.MountPath, helperapi.AgentDirectory) && (closest == nil || len(m.MountPath) > len(closest.MountPath)) {
			closest = &mounts[i]
		}
	}
	return closest
}

// mounters returns the containers that may run at the same time: init containers that
// have terminated no longer write.
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

// subPath returns the mounted directory of the volume, with a leading slash. One that
// depends on the environment may be any directory.
func subPath(m corev1.VolumeMount) string {
	if m.SubPathExpr != "" {
		return "/"
	}
	return path.Join("/", m.SubPath)
}

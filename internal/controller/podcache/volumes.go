package podcache

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// volumeNames has the names of the volumes that are kept: those that contain a /tmp of the
// pod's containers, whose mounts show who else can write there, and how much; and those of
// the node, which may give power over it.
type volumeNames []string

func keptVolumes(pod *corev1.Pod) volumeNames {
	var k volumeNames
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if m := podfacts.TmpMount(c.VolumeMounts); m != nil {
			k = append(k, m.Name)
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil {
			k = append(k, v.Name)
		}
	}
	return k
}

func (k volumeNames) mounts(all []corev1.VolumeMount) []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for _, m := range all {
		if slices.Contains(k, m.Name) {
			out = append(out, corev1.VolumeMount{
				Name: m.Name, MountPath: m.MountPath, SubPath: m.SubPath, SubPathExpr: m.SubPathExpr, ReadOnly: m.ReadOnly,
			})
		}
	}
	return out
}

// ephemeral returns the ephemeral containers that mount such a volume or have powers, and
// the operator's.
func (k volumeNames) ephemeral(all []corev1.EphemeralContainer) []corev1.EphemeralContainer {
	var out []corev1.EphemeralContainer
	for _, c := range all {
		mounts, security := k.mounts(c.VolumeMounts), securityContext(c.SecurityContext)
		if len(mounts) > 0 || security != nil || transport.IsDoor(c.Name) {
			out = append(out, corev1.EphemeralContainer{TargetContainerName: c.TargetContainerName, EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: c.Name, VolumeMounts: mounts, SecurityContext: security,
			}})
		}
	}
	return out
}

// volumes returns those volumes: whether they are on the node, and their limits.
func (k volumeNames) volumes(all []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for _, v := range all {
		if !slices.Contains(k, v.Name) {
			continue
		}
		kept := corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{EmptyDir: v.EmptyDir}}
		if v.HostPath != nil {
			kept.HostPath = &corev1.HostPathVolumeSource{Path: v.HostPath.Path}
		}
		out = append(out, kept)
	}
	return out
}

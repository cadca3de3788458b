package podcache

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// tmp has the names of the volumes that contain a /tmp of the pod's containers. Only
// their mounts are kept: they show who else can write there, and how much.
type tmp []string

func tmpVolumes(pod *corev1.Pod) tmp {
	var t tmp
	add := func(mounts []corev1.VolumeMount) {
		if m := podfacts.TmpMount(mounts); m != nil {
			t = append(t, m.Name)
		}
	}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		add(c.VolumeMounts)
	}
	return t
}

func (t tmp) mounts(all []corev1.VolumeMount) []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for _, m := range all {
		if slices.Contains(t, m.Name) {
			out = append(out, corev1.VolumeMount{
				Name: m.Name, MountPath: m.MountPath, SubPath: m.SubPath, SubPathExpr: m.SubPathExpr, ReadOnly: m.ReadOnly,
			})
		}
	}
	return out
}

// ephemeral returns the ephemeral containers that mount such a volume, and the
// operator's.
func (t tmp) ephemeral(all []corev1.EphemeralContainer) []corev1.EphemeralContainer {
	var out []corev1.EphemeralContainer
	for _, c := range all {
		if mounts := t.mounts(c.VolumeMounts); len(mounts) > 0 || transport.IsDoor(c.Name) {
			out = append(out, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name, VolumeMounts: mounts}})
		}
	}
	return out
}

// volumes returns those volumes: whether they are on the node, and their limits.
func (t tmp) volumes(all []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for _, v := range all {
		if !slices.Contains(t, v.Name) {
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

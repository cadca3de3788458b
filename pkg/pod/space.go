package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Space is how much may be written to the helper's directory in a container according to
// the pod's spec. If more is written, the kubelet evicts the pod some time after the write
// succeeded.
type Space struct {
	// Bytes is the limit; 0 means none.
	Bytes int64
	// Bound describes what sets the limit, as the subject of a sentence.
	Bound string
}

// SpaceFor returns how much the pod's spec allows to be written to the helper's directory
// in a container, by the rules of the kubelet's eviction manager (pkg/kubelet/eviction,
// localStorageEviction), for which a limit of 0 means none.
func SpaceFor(pod *corev1.Pod, name string) Space {
	c := Named(pod, name)
	if c == nil {
		return Space{}
	}
	var tightest Space
	bound := func(limit *resource.Quantity, what string) {
		if limit != nil && limit.Sign() > 0 && (tightest.Bytes == 0 || limit.Value() < tightest.Bytes) {
			tightest = Space{Bytes: limit.Value(), Bound: fmt.Sprintf("%s is %s", what, limit)}
		}
	}
	volume := tmpVolume(pod, *c)
	switch {
	case volume == nil: // the container's own layer
		bound(c.Resources.Limits.StorageEphemeral(), "limits.ephemeral-storage of the container")
	case volume.EmptyDir == nil: // somebody else's storage
		return Space{}
	default:
		bound(volume.EmptyDir.SizeLimit, "sizeLimit of the emptyDir "+volume.Name)
		if volume.EmptyDir.Medium != corev1.StorageMediumDefault { // memory is no disk
			return tightest
		}
	}
	// The kubelet compares the usage of the whole pod with the sum of its containers'
	// limits.
	bound(podEphemeralStorage(pod), "limits.ephemeral-storage of the pod")
	return tightest
}

// podEphemeralStorage returns the pod's limit: the sum over its containers and sidecars,
// or the largest of an init container.
func podEphemeralStorage(pod *corev1.Pod) *resource.Quantity {
	sum := &resource.Quantity{}
	for _, c := range pod.Spec.Containers {
		sum.Add(*c.Resources.Limits.StorageEphemeral())
	}
	for _, c := range pod.Spec.InitContainers {
		limit := c.Resources.Limits.StorageEphemeral()
		if sidecar(c) {
			sum.Add(*limit)
		} else if limit.Cmp(*sum) > 0 {
			sum = limit
		}
	}
	return sum
}

// tmpVolume returns the volume that contains the helper's directory of a container; nil
// for the container's own layer.
func tmpVolume(pod *corev1.Pod, c corev1.Container) *corev1.Volume {
	mount := TmpMount(c.VolumeMounts)
	if mount == nil {
		return nil
	}
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 {
		return nil
	}
	return &pod.Spec.Volumes[i]
}

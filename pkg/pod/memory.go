package pod

import (
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// MemoryFor returns the memory limit of the pod itself (spec.resources), as a container
// shares it with others; nil for none. The kubelet gives the pod's limit to a container
// without its own, whose control group does not show what the others use (KEP-2837).
func MemoryFor(pod *corev1.Pod, name string) *helperapi.PodMemory {
	if pod.Spec.Resources == nil || pod.Spec.Resources.Limits.Memory().IsZero() {
		return nil
	}
	m := &helperapi.PodMemory{Limit: pod.Spec.Resources.Limits.Memory().Value()}
	count := func(c corev1.Container) {
		switch limit := c.Resources.Limits.Memory(); {
		case c.Name == name:
		case limit.IsZero():
			m.Unlimited = c.Name
		default:
			m.Others += limit.Value()
		}
	}
	for _, c := range pod.Spec.Containers {
		count(c)
	}
	for _, c := range pod.Spec.InitContainers {
		if sidecar(c) {
			count(c)
		}
	}
	return m
}

// MemoryHeadroom returns the exporter's memory headroom in bytes, for the helper. The
// API server sets the default; an exporter that is older than the field has none.
func MemoryHeadroom(exporter *v1alpha1.PrometheusJmxExporter) int64 {
	if headroom := exporter.Spec.MemoryHeadroom; headroom != nil {
		return headroom.Value()
	}
	return helperapi.DefaultMemoryHeadroom
}

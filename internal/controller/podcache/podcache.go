// Package podcache reduces pods in the cache to the fields that the operator reads, and keeps
// what pods or records have in common once, so that a cluster's pods need little memory.
package podcache

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// Trim is a cache transform. Of managedFields it keeps what shows the owners of the
// scrape annotations. It does not change an object that it has already trimmed.
func Trim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	podfacts.TrimManagedFields(pod)
	kept := keptVolumes(pod)
	ephemeral := kept.ephemeral(pod.Spec.EphemeralContainers)
	trimmed := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			Labels: pod.Labels, Annotations: annotations(pod.Annotations),
			OwnerReferences: pod.OwnerReferences, ManagedFields: pod.ManagedFields,
		},
		Spec: corev1.PodSpec{
			NodeName:       pod.Spec.NodeName,
			NodeSelector:   nodeSelector(pod.Spec.NodeSelector),
			OS:             pod.Spec.OS,
			HostNetwork:    pod.Spec.HostNetwork,
			HostPID:        pod.Spec.HostPID,
			HostIPC:        pod.Spec.HostIPC,
			RestartPolicy:  pod.Spec.RestartPolicy,
			Resources:      podLimits(pod.Spec.Resources),
			Containers:     kept.containers(pod, pod.Spec.Containers),
			InitContainers: kept.containers(pod, pod.Spec.InitContainers),

			ShareProcessNamespace: pod.Spec.ShareProcessNamespace,

			EphemeralContainers: ephemeral,
			Volumes:             kept.volumes(pod.Spec.Volumes),
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, PodIP: pod.Status.PodIP,
			Reason:                pod.Status.Reason,
			Message:               said(pod.Status.Message),
			Conditions:            conditions(pod.Status.Conditions),
			ContainerStatuses:     containerStatuses(pod.Status.ContainerStatuses, pod.Spec.Containers),
			InitContainerStatuses: containerStatuses(pod.Status.InitContainerStatuses, pod.Spec.InitContainers),

			EphemeralContainerStatuses: ephemeralStatuses(pod.Status.EphemeralContainerStatuses, ephemeral),
		},
	}
	return trimmed, nil
}

func annotations(all map[string]string) map[string]string {
	var kept map[string]string
	for _, name := range append(podfacts.Annotations(), v1alpha1.AnnotationOptOut, corev1.MirrorPodAnnotationKey) {
		if value, ok := all[name]; ok {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[name] = value
		}
	}
	return kept
}

// nodeSelector returns the entries about the operating system.
func nodeSelector(all map[string]string) map[string]string {
	if os, ok := all[corev1.LabelOSStable]; ok {
		return map[string]string{corev1.LabelOSStable: os}
	}
	return nil
}

// podLimits returns the memory limit of the pod itself.
func podLimits(all *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	if all == nil {
		return nil
	}
	kept := limits(all.Limits, corev1.ResourceMemory)
	if kept == nil {
		return nil
	}
	return &corev1.ResourceRequirements{Limits: kept}
}

// limits returns the limits of the given resources; nil if there are none.
func limits(all corev1.ResourceList, names ...corev1.ResourceName) corev1.ResourceList {
	var kept corev1.ResourceList
	for _, name := range names {
		if limit, ok := all[name]; ok {
			if kept == nil {
				kept = corev1.ResourceList{}
			}
			kept[name] = limit
		}
	}
	return kept
}

// containers returns the containers reduced to name, image, how they get JDK_JAVA_OPTIONS, ports, mounts of kept volumes, ephemeral
// storage limits, powers over the node, and restart policies, which also distinguish sidecars
// from init containers. Memory limits are kept where the pod itself has one.
func (k volumeNames) containers(pod *corev1.Pod, containers []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(containers))
	for i, c := range containers {
		out[i] = corev1.Container{
			Name: c.Name, Image: c.Image, Ports: ports(c.Ports), VolumeMounts: k.mounts(c.VolumeMounts),
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, ResizePolicy: resizePolicy(c),
			SecurityContext: securityContext(c.SecurityContext),
		}
		out[i].Env, out[i].EnvFrom = podfacts.TrimJavaOptions(&c)
		out[i].Resources.Limits = limits(c.Resources.Limits, corev1.ResourceEphemeralStorage)
		if podLimits(pod.Spec.Resources) != nil {
			out[i].Resources.Limits = limits(c.Resources.Limits, corev1.ResourceEphemeralStorage, corev1.ResourceMemory)
		}
	}
	return out
}

func ports(all []corev1.ContainerPort) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, p := range all {
		out = append(out, corev1.ContainerPort{ContainerPort: p.ContainerPort})
	}
	return out
}

// Changed reports whether two trimmed states of a pod differ.
func Changed(before, after *corev1.Pod) bool {
	b := *before
	b.ResourceVersion = after.ResourceVersion
	return !equality.Semantic.DeepEqual(&b, after)
}

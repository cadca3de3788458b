package variants

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kubernetes has values for the types of the core API. They refer to a volume "data", a claim
// "claim" and a container "app"; "other", "other-claim" and "second" have to exist, too.
var Kubernetes = Values{
	ByType: byType(
		// Enumerations.
		corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError,
		corev1.DefaultProcMount, corev1.UnmaskedProcMount,
		corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeLocalhost,
		corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined, corev1.AppArmorProfileTypeLocalhost,
		corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleOnExitCodesOpIn,
		corev1.NotRequired, corev1.RestartContainer,
		corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.URISchemeHTTP, corev1.URISchemeHTTPS,
		corev1.MountPropagationNone, corev1.MountPropagationHostToContainer,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible,
		corev1.Capability("SYS_PTRACE"), corev1.ResourceCPU, corev1.Signal("SIGTERM"), corev1.HTTPProtocol("HTTP1"), corev1.GRPCProbeMode("Plaintext"),
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP,
		corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal,
		corev1.IPv4Protocol, corev1.IPv6Protocol,
		corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack,
		corev1.LoadBalancerIPModeVIP, metav1.ConditionTrue,
		discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeFQDN,
		types.UID("other"), metav1.ManagedFieldsOperationApply,
		// Types that marshal themselves.
		resource.MustParse("1"), resource.MustParse("2"), intstr.FromInt32(8080), metav1.Unix(1, 0), *metav1.NewFieldsV1("{}"),
		runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)},
		// Structs.
		corev1.EnvVar{Name: "OTHER", Value: "other"},
		corev1.EnvVar{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		corev1.EnvVar{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "app", Resource: "limits.cpu"}}},
		corev1.EnvVar{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "data"}, Key: "data"}}},
		corev1.EnvVar{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "data"}, Key: "data"}}},
		corev1.EnvVar{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "data", Path: "data", Key: "data"}}},
		corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "data"}}},
		corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "data"}}},
		corev1.VolumeMount{Name: "data", MountPath: "/data"},
		corev1.VolumeMount{Name: "data", MountPath: "/data", ReadOnly: true, MountPropagation: new(corev1.MountPropagationNone), RecursiveReadOnly: new(corev1.RecursiveReadOnlyDisabled)},
		corev1.VolumeDevice{Name: "claim", DevicePath: "/data"},
		corev1.ContainerPort{ContainerPort: 8080},
		corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("data")},
		corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault},
		corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("data")},
		corev1.ServicePort{Name: "other", Port: 8080},
		corev1.ClientIPConfig{TimeoutSeconds: new(int32(60))},
		metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "data", UID: "data"},
		discoveryv1.EndpointPort{Name: new("other"), Port: new(int32(8080))},
	),
	ByPath: map[string][]any{
		"finalizers[+]":                       {"example.com/never"},
		"spec.externalIPs[+]":                 {"198.51.100.1"},
		"spec.trafficDistribution":            {"PreferClose"},
		"addresses[0]":                        {"198.51.100.1"},
		"addresses[+]":                        {"198.51.100.2"},
		"targetContainerName":                 {"second"},
		"valueFrom.fieldRef.apiVersion":       {"v1"},
		"valueFrom.fieldRef.fieldPath":        {"metadata.namespace"},
		"valueFrom.resourceFieldRef.resource": {"limits.memory"},
		"volumeMounts[+].mountPath":           {"/other"},
		"volumeDevices[+].name":               {"other-claim"},
		"volumeDevices[+].devicePath":         {"/other"},
		"securityContext.runAsUser":           {int64(0), int64(1001)},
		"securityContext.runAsGroup":          {int64(0), int64(1001)},
	},
}

// byType groups values by their types.
func byType(values ...any) map[reflect.Type][]any {
	grouped := map[reflect.Type][]any{}
	for _, value := range values {
		of := reflect.TypeOf(value)
		grouped[of] = append(grouped[of], value)
	}
	return grouped
}

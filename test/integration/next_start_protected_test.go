package integration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// The policy changes exactly those pods that the operator attaches to without any flag: each
// pod of a table is compared with the operator's own protection.
func TestNextStartProtected(t *testing.T) {
	t.Parallel()
	c := newNextStart(t)
	c.allowing("exporter", nil)
	c.eventuallyAdmits(added, plain)
	pods := map[string]func(*corev1.Pod){
		"the node's network":   func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"the node's processes": func(p *corev1.Pod) { p.Spec.HostPID = true },
		"the node's IPC":       func(p *corev1.Pod) { p.Spec.HostIPC = true },
		"not privileged": func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(false)}
		},
		"no capability added": func(p *corev1.Pod) {
			capable(p, "CHOWN")
			p.Spec.Containers[0].SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		},
		"a volume of the node that is not mounted": func(p *corev1.Pod) { onNode(p, "/etc", corev1.VolumeMount{}); p.Spec.Containers[0].VolumeMounts = nil },
		"a part of the node":                       func(p *corev1.Pod) { onNode(p, "/", corev1.VolumeMount{SubPath: "data"}) },
		"a part of its system":                     func(p *corev1.Pod) { onNode(p, "/var", corev1.VolumeMount{SubPath: "lib/kubelet"}) },
		"a part by an expression":                  func(p *corev1.Pod) { onNode(p, "/var", corev1.VolumeMount{SubPathExpr: "log/$(NAME)"}) },
		"a privileged container beside it":         func(p *corev1.Pod) { privilegedBeside(p, false) },
		"one that shares its processes":            func(p *corev1.Pod) { privilegedBeside(p, true) },
		"a privileged sidecar that does": func(p *corev1.Pod) {
			privilegedBeside(p, true)
			p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers[1:], p.Spec.Containers[:1]
			p.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		},
		"a privileged init container": func(p *corev1.Pod) {
			privilegedBeside(p, true)
			p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers[1:], p.Spec.Containers[:1]
		},
	}
	for _, capability := range append(power.OrdinaryCapabilities(), "CAP_CHOWN", "Cap_Net_Raw", "SYS_ADMIN", "CAP_SYS_PTRACE", "cap_bpf", "ALL", "CHOWNS", "XCHOWN", "CAP_CAP_CHOWN", "NEW_POWER") {
		pods["capability "+capability] = func(p *corev1.Pod) { capable(p, corev1.Capability(capability)) }
	}
	paths := []string{"/", "/data", "data", "/etc/", "//etc", "/./etc", "/etc/.", "/etcd-backup", "/var/run", "/var/run/docker.sock", "/var/runs", "/var", "/var/log", "/var/log/shop",
		"/usr/bin", "/opt", "/opt/shop", "/opt/cni/bin", "/etc/ssl/certs", "/etc/ssl/certs/ca.pem", "/etc/ssl", "/etc/localtime", "/dev/urandom", "/dev/sda", "/mnt/disks/ssd0", "/var/lib/kafka"}
	for _, p := range power.SystemPaths() {
		paths = append(paths, p.Path)
	}
	for _, path := range paths {
		pods["path "+path] = func(p *corev1.Pod) { onNode(p, path, corev1.VolumeMount{}) }
		pods["path "+path+", read only"] = func(p *corev1.Pod) { onNode(p, path, corev1.VolumeMount{ReadOnly: true}) }
	}
	for name, how := range map[string]func(*corev1.Pod){
		"opted out": func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "true"} },
		"a mirror pod": func(p *corev1.Pod) {
			p.Spec.NodeName, p.Annotations = "node-1", map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		},
	} {
		if got := env(c.mutated(plain(), how)); got != "" {
			t.Errorf("%s: got %q, want no variable", name, got)
		}
	}
	for name, how := range pods {
		pod := plain()
		how(pod)
		pod.Namespace = c.namespace
		want := added
		if (podfacts.Protection{}).Container(pod, "app") != "" {
			want = ""
		}
		if got := env(c.mutated(pod)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// onNode mounts a path of the node.
func onNode(p *corev1.Pod, path string, mount corev1.VolumeMount) {
	mount.Name, mount.MountPath = "node", "/node"
	p.Spec.Volumes = []corev1.Volume{
		{Name: "other", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}},
	}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "other", MountPath: "/other"}, mount}
}

func privilegedBeside(p *corev1.Pod, shared bool) {
	p.Spec.ShareProcessNamespace = &shared
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
		Name: "agent", Image: "registry.example/agent:1", SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
	})
}

// In kube-system and in the operator's own namespace, the policy changes nothing.
func TestNextStartNamespaces(t *testing.T) {
	t.Parallel()
	own, system, c := newCluster(t), newCluster(t), newCluster(t)
	system.namespace = "kube-system"
	clusters := []*cluster{system, own, c}
	for _, object := range built(t, nextStart) {
		name := object.GetName() + "-" + c.namespace
		if object.GetKind() == "MutatingAdmissionPolicy" {
			set(t, object, []any{map[string]any{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": []any{"kube-system", own.namespace}}},
				"spec", "matchConstraints", "namespaceSelector", "matchExpressions")
		} else {
			set(t, object, name, "spec", "policyName")
			in := map[string]any{"key": "kubernetes.io/metadata.name", "operator": "In", "values": []any{"kube-system", own.namespace, c.namespace}}
			set(t, object, []any{in}, "spec", "matchResources", "namespaceSelector", "matchExpressions")
		}
		object.SetName(name)
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), object) })
	}
	for _, in := range clusters {
		in.configure(rules)
		e := in.allowing("next-start", func(e *v1alpha1.PrometheusJmxExporter) {
			e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "next-start-" + v1alpha1.LabelValue(c.namespace)}
		})
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), e) })
	}
	pod := func() *corev1.Pod {
		p := plain()
		p.Labels["app"] = "next-start-" + c.namespace
		return p
	}
	c.eventuallyAdmits(added, pod)
	for _, in := range clusters[:2] {
		if diff := cmp.Diff("", env(in.mutated(pod()))); diff != "" {
			t.Errorf("in %s (-want +got):\n%s", in.namespace, diff)
		}
	}
}

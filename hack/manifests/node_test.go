package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"banzaicloud.com/jmx-exporter-operator/internal/policies"
)

func nodeAgents(t *testing.T) (appsv1.DaemonSet, map[string]object) {
	t.Helper()
	all := objects(t, build(t, "config/transport-node"))
	of := all["DaemonSet jmx-exporter-system "+policies.NodeAgent]
	var set appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of, &set); err != nil || of == nil {
		t.Fatalf("the DaemonSet %s is not there: %v", policies.NodeAgent, err)
	}
	return set, all
}

// A node agent has what it needs and nothing else: whatever is added to it is to be added here,
// with a reason in docs/node-agent.md.
func TestNodeAgent(t *testing.T) {
	set, _ := nodeAgents(t)
	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("containers: got %d, want 1", len(pod.Containers))
	}
	container := pod.Containers[0]
	var adds []corev1.Capability
	for _, capability := range policies.NodeCapabilities() {
		adds = append(adds, corev1.Capability(capability))
	}
	want := corev1.Container{
		Name: policies.NodeContainer, Image: "jmx-exporter-operator:dev", ImagePullPolicy: corev1.PullIfNotPresent, Command: policies.NodeProgram(),
		Args: []string{}, Resources: container.Resources,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined},
			Capabilities:    &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: adds},
		},
	}
	if diff := cmp.Diff(want, container); diff != "" {
		t.Errorf("the container (-want +got):\n%s", diff)
	}
	pod.Containers = nil
	if diff := cmp.Diff(corev1.PodSpec{
		ServiceAccountName: policies.NodeAgent, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), HostPID: true,
		TerminationGracePeriodSeconds: new(int64(30)), // longer than leaveTimeout in cmd/jmx-attach
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		NodeSelector:                  map[string]string{"kubernetes.io/os": "linux"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Affinity: pod.Affinity,
	}, pod); diff != "" {
		t.Errorf("the pod (-want +got):\n%s", diff)
	}
	limit := container.Resources.Limits.Memory()
	if limit.Value() < 392e6 {
		t.Errorf("the memory limit %s is less than 32 conversations need", limit)
	}
}

// Neither the operator's Deployment nor what selects its pods selects node agents.
func TestNodeAgentsAreNotTheOperators(t *testing.T) {
	set, all := nodeAgents(t)
	labels := set.Spec.Template.Labels
	for _, text := range []string{"config/prometheus/operator_service.yaml", "config/network-policy/operator.yaml", "config/manager/deployment.yaml"} {
		if !strings.Contains(read(t, text), "app.kubernetes.io/name: jmx-exporter-operator") {
			t.Errorf("%s does not select by app.kubernetes.io/name", text)
		}
	}
	if labels["app.kubernetes.io/name"] == "jmx-exporter-operator" {
		t.Error("node agents have the name of the operator's pods")
	}
	policy := all["NetworkPolicy jmx-exporter-system "+policies.NodeAgent]
	if policy == nil {
		t.Fatal("there is no NetworkPolicy")
	}
	want := object{
		"podSelector": object{"matchLabels": object{"app.kubernetes.io/name": labels["app.kubernetes.io/name"]}}, "policyTypes": []any{"Ingress", "Egress"},
	}
	if diff := cmp.Diff(want, policy["spec"]); diff != "" {
		t.Errorf("the NetworkPolicy (-want +got):\n%s", diff)
	}
}

// Pod Security admits node agents where they are, and only there.
func TestNodeAgentsNamespace(t *testing.T) {
	const enforce = "pod-security.kubernetes.io/enforce"
	for overlay, want := range map[string]object{
		"config/default":        {enforce: "restricted"},
		"config/node":           {enforce: "privileged", "banzaicloud.com/privileged": "node-agents"},
		"config/transport-node": {enforce: "privileged", "banzaicloud.com/privileged": "node-agents"},
	} {
		namespace := objects(t, build(t, overlay))["Namespace  jmx-exporter-system"]
		if namespace == nil {
			t.Errorf("%s has no namespace", overlay)
			continue
		}
		if diff := cmp.Diff(want, namespace["metadata"].(object)["labels"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", overlay, diff)
		}
	}
}

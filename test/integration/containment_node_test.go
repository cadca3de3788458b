package integration

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/policies"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// agents are the node agents of an overlay, and who may do everything with pods in the
// operator's namespace.
type agents struct {
	*contained
	// admin is that user, and controller the controller of DaemonSets.
	admin      contained
	controller client.Client
}

const daemonSetController = "system:serviceaccount:kube-system:daemon-set-controller"

// runsAgent does what Kubernetes' controllers and the kubelet do for the DaemonSet of node
// agents: its pod runs on node-1.
func (c *cluster) runsAgent(object client.Object) *corev1.Pod {
	c.t.Helper()
	var set appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, &set); err != nil {
		c.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
	pod.Namespace, pod.GenerateName, pod.Spec.NodeName = set.Namespace, set.Name+"-", "node-1"
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: "of-the-set", Controller: new(true)}}
	if err := as(c.t, daemonSetController, "system:masters").Create(c.t.Context(), pod); err != nil { // policies may count already
		c.t.Fatal(err)
	}
	pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{running(policies.NodeContainer)}
	c.updateStatus(pod)
	return pod
}

func newAgents(c *contained) *agents {
	c.t.Helper()
	const admin = "admin-of-the-namespace"
	c.bind(admin, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "pods/exec", "pods/attach", "pods/ephemeralcontainers"}, Verbs: []string{"*"}})
	c.bindUser(daemonSetController, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"*"}})
	a := &agents{contained: c, admin: *c, controller: as(c.t, daemonSetController)}
	a.admin.config = c.as(c.user(admin))
	var err error
	if a.admin.client, err = newClient(a.admin.config); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// like returns a pod like a node agent, with a change.
func (a *agents) like(how func(*corev1.Pod)) *corev1.Pod {
	like := a.agent.DeepCopy()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: policies.NodeAgent + "-x", Labels: like.Labels, OwnerReferences: like.OwnerReferences}, Spec: like.Spec}
	how(p)
	return p
}

func (a *agents) makes(what string, by client.Client, how func(*corev1.Pod)) attempt {
	return attempt{what, func() error { return by.Create(a.t.Context(), a.like(how), client.DryRunAll) }}
}

// runs creates a pod as the Pod Security level restricted admits it, with a change.
func (a *agents) runs(what string, how func(*corev1.PodSpec)) attempt {
	return attempt{what, func() error {
		p := aPod("other").pod
		p.Namespace = a.namespace
		p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
		how(&p.Spec)
		return a.admin.client.Create(a.t.Context(), &p, client.DryRunAll)
	}}
}

func (a *agents) changes(what string, pod *corev1.Pod, how func(*corev1.Pod)) attempt {
	return attempt{what, func() error {
		before := pod.DeepCopy()
		if !get(a.t, before) {
			a.t.Fatalf("pod %s does not exist", pod.Name)
		}
		after := before.DeepCopy()
		how(after)
		return a.admin.client.Patch(a.t.Context(), after, client.MergeFrom(before), client.DryRunAll)
	}}
}

// Attacks on node agents, by a token of the operator, by somebody who may do everything with
// pods in its namespace, and by a DaemonSet that was changed: RBAC allows them, and the
// policies deny them. Each rule is needed.
func TestContainmentOfNodeAgents(t *testing.T) {
	c := contain(t, "default", "node")
	a := newAgents(c)
	change(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, func(n *corev1.Namespace) {
		metav1.SetMetaDataLabel(&n.ObjectMeta, "banzaicloud.com/privileged", "node-agents") // config/node
	})
	attacks, legitimate := slices.Concat(a.byToken(), a.byAdmin(), a.bySet(), a.byFeatures()), a.legitimate()
	eventually(t, func() bool {
		return attacks[0].try() == nil && a.admin.execsIn("", a.agent, policies.NodeContainer, nil, false)[0].try() == nil
	})
	for _, attempt := range slices.Concat(attacks, legitimate) {
		if err := attempt.try(); err != nil {
			t.Errorf("without the policies, the attack fails, so this case proves nothing: %s: %v", attempt.what, err)
		}
	}
	var passed []string
	defer func() {
		if len(passed) > 0 {
			t.Errorf("attacks that succeed in spite of the policies: %q", passed)
		}
	}()
	c.enforce(func() bool {
		passed = nil
		for _, attack := range attacks {
			if attack.try() == nil {
				passed = append(passed, attack.what)
			}
		}
		return len(passed) == 0
	})
	for _, attack := range attacks {
		if err := attack.try(); !deniedByAny(err) {
			t.Errorf("with the policies: %s: got %v, want a denial by a policy", attack.what, err)
		}
	}
	for _, attempt := range legitimate {
		if err := attempt.try(); err != nil {
			t.Errorf("with the policies: %s: got %v, want admission", attempt.what, err)
		}
	}
	c.needsEachRule("jmx-exporter-operator-node-", attacks)
}

// With config/transport-node, whatever else gives the operator the right, it executes nothing
// but sessions in its node agents.
func TestContainmentNodeOnly(t *testing.T) {
	c := contain(t, "transport-node")
	c.bindUser(c.config.Impersonate.UserName, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"*"}})
	pod := c.run(aPod("app-0").container(doorOfTest))
	others := slices.Concat(
		c.execsIn("the script is executed", pod, "app", c.commands.Current, false),
		c.execsIn("the door's command is executed", pod, doorOfTest, transport.DoorCommand(), false),
	)
	eventually(t, func() bool { return others[0].try() == nil })
	c.enforce(func() bool { return others[0].try() != nil })
	for _, attack := range others {
		if err := attack.try(); policyOf(err) != "jmx-exporter-operator-node-only."+c.namespace {
			t.Errorf("%s: got %v, want a denial by the policy node-only", attack.what, err)
		}
	}
	for _, session := range c.execsIn("a session in a node agent", c.agent, policies.NodeContainer, policies.NodeCommand(), false) {
		if err := session.try(); err != nil {
			t.Errorf("%s: got %v, want admission", session.what, err)
		}
	}
	c.needsEachRule("jmx-exporter-operator-node-only.", others)
}

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

// makes creates a pod like a node agent, with a change.
func (a *agents) makes(what string, by client.Client, how func(*corev1.Pod)) attempt {
	return attempt{what, func() error {
		like := a.agent.DeepCopy()
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: policies.NodeAgent + "-x", Labels: like.Labels, OwnerReferences: like.OwnerReferences}, Spec: like.Spec}
		how(p)
		return by.Create(a.t.Context(), p, client.DryRunAll)
	}}
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

// byToken are attacks with a token of the operator.
func (a *agents) byToken() []attempt {
	otherNamespace := newCluster(a.t)
	namesake := otherNamespace.run(aPod(a.agent.Name).container(policies.NodeContainer))
	named, other := a.run(aPod(policies.NodeAgent+"-old")), a.run(aPod("app-0").container(policies.NodeContainer))
	session := policies.NodeCommand()
	return slices.Concat(
		a.execsIn("another command is executed in a node agent", a.agent, policies.NodeContainer, []string{"/jmx-attach", "list"}, false),
		a.execsIn("the session of a node agent with an extra argument", a.agent, policies.NodeContainer, append(slices.Clone(session), "--allow-privileged"), false),
		a.execsIn("another node agent is started in a node agent", a.agent, policies.NodeContainer, policies.NodeProgram(), false),
		a.execsIn("the door's command is executed in a node agent", a.agent, policies.NodeContainer, transport.DoorCommand(), false),
		a.execsIn("the script is executed in a node agent", a.agent, policies.NodeContainer, a.commands.Current, false),
		a.execsIn("a terminal is requested in a node agent", a.agent, policies.NodeContainer, session, true),
		a.execsIn("the session of a node agent in another pod of the operator's namespace", other, policies.NodeContainer, session, false),
		a.execsIn("the session of a node agent in a container of another name", named, "app", session, false),
		a.execsIn("the session of a node agent in another container of its name", namesake, policies.NodeContainer, session, false),
	)
}

// byAdmin are attacks by somebody who may do everything with pods in the operator's namespace.
func (a *agents) byAdmin() []attempt {
	other := a.run(aPod("shop"))
	return slices.Concat(
		a.admin.execsIn("a user executes a session in a node agent", a.agent, policies.NodeContainer, policies.NodeCommand(), false),
		a.admin.execsIn("a user executes another command in a node agent", a.agent, policies.NodeContainer, []string{"/jmx-attach", "list"}, false),
		[]attempt{
			a.makes("a user creates a node agent", a.admin.client, func(*corev1.Pod) {}),
			a.makes("a user creates a pod with the account of node agents", a.admin.client, func(p *corev1.Pod) { p.Name, p.Labels = "x", nil }),
			a.changes("a user changes the image of a node agent", a.agent, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "evil" }),
			a.changes("a user labels a pod as a node agent", other, func(p *corev1.Pod) { p.Labels["app.kubernetes.io/name"] = policies.NodeAgent }),
			{"a user adds an ephemeral container to a node agent", func() error {
				p := a.agent.DeepCopy()
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					Name: "debugger", Image: "evil", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullAlways,
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), RunAsUser: new(int64(1000)), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}}}
				return a.admin.client.SubResource("ephemeralcontainers").Update(a.t.Context(), p, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
			a.runs("a pod shares the process IDs of its node", func(s *corev1.PodSpec) { s.HostPID = true }),
			a.runs("a pod has a port of its node", func(s *corev1.PodSpec) {
				s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
			}),
			a.runs("a pod mounts a folder of its node", func(s *corev1.PodSpec) {
				s.Volumes = []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
			}),
			a.runs("a pod is privileged", func(s *corev1.PodSpec) {
				s.Containers[0].SecurityContext.Privileged, s.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true), nil
			}),
			a.runs("a pod has a capability", func(s *corev1.PodSpec) {
				s.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_PTRACE"}
			}),
			a.runs("an init container has a capability", func(s *corev1.PodSpec) {
				first := s.Containers[0]
				first.Name = "first"
				first.SecurityContext = first.SecurityContext.DeepCopy()
				first.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
				s.InitContainers = []corev1.Container{first}
			}),
			a.runs("a pod runs as root", func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil }),
			a.runs("a pod has no seccomp profile", func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil }),
		},
	)
}

// bySet are node agents as somebody would have the DaemonSet make them who changed it.
func (a *agents) bySet() []attempt {
	container := func(what string, how func(*corev1.Container)) attempt {
		return a.makes(what, a.controller, func(p *corev1.Pod) { how(&p.Spec.Containers[0]) })
	}
	list := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/jmx-attach", "list"}}}}
	return []attempt{
		a.makes("another DaemonSet makes a node agent", a.controller, func(p *corev1.Pod) { p.OwnerReferences[0].Name = "evil" }),
		a.makes("a node agent has another label", a.controller, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "shop"} }),
		a.makes("a node agent has a second container", a.controller, func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Image: "evil"})
		}),
		a.makes("a node agent mounts a folder of its node", a.controller, func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}),
		a.makes("a node agent has a token", a.controller, func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = nil }),
		a.makes("a node agent has the network of its node", a.controller, func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		container("a node agent runs another program", func(c *corev1.Container) { c.Command = []string{"/bin/sh"} }),
		container("a node agent has an environment variable", func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "GODEBUG", Value: "x"}} }),
		container("a node agent has a port", func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 80}} }),
		container("a node agent has a hook", func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/jmx-attach", "list"}}}}
		}),
		container("a node agent has a liveness probe", func(c *corev1.Container) { c.LivenessProbe = list.DeepCopy() }),
		container("a node agent has a readiness probe", func(c *corev1.Container) { c.ReadinessProbe = list.DeepCopy() }),
		container("a node agent has a startup probe", func(c *corev1.Container) { c.StartupProbe = list.DeepCopy() }),
		container("a node agent runs in another directory", func(c *corev1.Container) { c.WorkingDir = "/proc/1/root" }),
		container("the message of a node agent's end covers its program", func(c *corev1.Container) { c.TerminationMessagePath = "/jmx-attach" }),
		a.makes("a node agent has a device", a.controller, func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "any", ResourceClaimName: new("any")}}
			p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "any"}}
		}),
		a.makes("a node agent may write what runtimes protect in /proc", a.controller, func(p *corev1.Pod) {
			p.Spec.HostPID, p.Spec.HostUsers = false, new(false)
			p.Spec.Containers[0].SecurityContext.ProcMount = new(corev1.UnmaskedProcMount)
		}),
		container("a node agent has another capability", func(c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = append(c.SecurityContext.Capabilities.Add, "SYS_ADMIN")
		}),
		container("a node agent keeps capabilities", func(c *corev1.Container) { c.SecurityContext.Capabilities.Drop = nil }),
		container("a node agent is privileged", func(c *corev1.Container) {
			c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = new(true), nil
		}),
		container("a node agent is unconfined", func(c *corev1.Container) {
			c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}),
		container("a node agent may write its files", func(c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = nil }),
	}
}

func (a *agents) legitimate() []attempt {
	return slices.Concat(
		a.execsIn("the operator's session in a node agent", a.agent, policies.NodeContainer, policies.NodeCommand(), false),
		[]attempt{
			a.makes("the DaemonSet makes a node agent", a.controller, func(*corev1.Pod) {}),
			a.makes("the DaemonSet makes a node agent with a flag", a.controller, func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"--allow-privileged"} }),
			a.changes("a user annotates a node agent", a.agent, func(p *corev1.Pod) { p.Annotations = map[string]string{"team": "platform"} }),
			{"a user deletes a node agent", func() error { return a.admin.client.Delete(a.t.Context(), a.agent.DeepCopy(), client.DryRunAll) }},
			{"the operator's pod is created", func() error {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "operator-2", Labels: a.home.Labels}, Spec: *a.home.Spec.DeepCopy()}
				return a.admin.client.Create(a.t.Context(), p, client.DryRunAll)
			}},
			a.runs("a pod without power over its node runs", func(*corev1.PodSpec) {}),
		},
	)
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
	attacks, legitimate := slices.Concat(a.byToken(), a.byAdmin(), a.bySet()), a.legitimate()
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

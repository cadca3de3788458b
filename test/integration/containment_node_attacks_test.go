package integration

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/policies"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

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

// byFeatures are node agents with fields that an older API server drops, where their features
// are off: these attacks are left out there.
func (a *agents) byFeatures() (attempts []attempt) {
	for _, feature := range []struct {
		what string
		how  func(*corev1.Pod)
		kept func(*corev1.Pod) bool
	}{
		{"a node agent has a device", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "any", ResourceClaimName: new("any")}}
			p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "any"}}
		}, func(p *corev1.Pod) bool { return len(p.Spec.ResourceClaims) > 0 }},
		{"a node agent may write what runtimes protect in /proc", func(p *corev1.Pod) {
			p.Spec.HostPID, p.Spec.HostUsers = false, new(false)
			p.Spec.Containers[0].SecurityContext.ProcMount = new(corev1.UnmaskedProcMount)
		}, func(p *corev1.Pod) bool {
			return *cmp.Or(p.Spec.Containers[0].SecurityContext.ProcMount, new(corev1.DefaultProcMount)) == corev1.UnmaskedProcMount
		}},
	} {
		pod := a.like(feature.how)
		if err := as(a.t, daemonSetController, "system:masters").Create(a.t.Context(), pod, client.DryRunAll); err != nil {
			a.t.Fatalf("%s: %v", feature.what, err)
		}
		if feature.kept(pod) {
			attempts = append(attempts, a.makes(feature.what, a.controller, feature.how))
		}
	}
	return attempts
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
			a.changes("a user annotates a node agent", a.agent, func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "team", "platform") }),
			{"a user deletes a node agent", func() error { return a.admin.client.Delete(a.t.Context(), a.agent.DeepCopy(), client.DryRunAll) }},
			{"the operator's pod is created", func() error {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "operator-2", Labels: a.home.Labels}, Spec: *a.home.Spec.DeepCopy()}
				return a.admin.client.Create(a.t.Context(), p, client.DryRunAll)
			}},
			a.runs("a pod without power over its node runs", func(*corev1.PodSpec) {}),
		},
	)
}

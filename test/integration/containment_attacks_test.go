package integration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// An attempt is what somebody tries, and what comes of it.
type attempt struct {
	what string
	try  func() error
}

// target is what is attacked: a pod of applications with an ephemeral container, an
// exporter whose pods are attached to, and what others have.
type target struct {
	*contained
	pod      *corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
	record   *v1alpha1.JmxAttachment
	// service and slice are the exporter's own, and foreign somebody else's.
	service *corev1.Service
	slice   *discoveryv1.EndpointSlice
	foreign *corev1.Service
}

const doorOfTest = transport.DoorPrefix + "0123abcd-1"

func newTarget(c *contained) *target {
	c.t.Helper()
	t := &target{contained: c}
	p := aPod("app-0")
	p.pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"KILL"}}}
	t.pod = c.run(p)
	o := c.operate()
	t.exporter = c.export("exporter")
	o.settle()
	o.settle()
	t.record = c.attachment(t.pod)
	if t.record == nil || t.record.Status.Phase != v1alpha1.PhaseAnnotated {
		c.t.Fatalf("there is nothing to attack: %+v", t.record)
	}
	var services corev1.ServiceList
	c.list(&services)
	t.service = &services.Items[0]
	t.slice = &c.slices(t.exporter)[0]
	t.foreign = create(c.t, &corev1.Service{ObjectMeta: c.named("payments"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	get(c.t, t.pod)
	door := t.door()
	t.pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{door}
	if err := admin.SubResource("ephemeralcontainers").Update(c.t.Context(), t.pod); err != nil {
		c.t.Fatal(err)
	}
	return t
}

// door is one as the operator adds it.
func (t *target) door() corev1.EphemeralContainer {
	return corev1.EphemeralContainer{TargetContainerName: "app", EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: doorOfTest, Image: "registry.example/operator:1", ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"/jmx-attach", "door", "--idle=15m0s"}, Env: []corev1.EnvVar{{Name: "JMX_ATTACH_TARGET", Value: "abc"}},
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: new(int64(1000)), RunAsGroup: new(int64(1000)), RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}}
}

// patches changes an object as the operator's account would, by a patch.
func patches[T client.Object](t *target, as client.Client, object T, how func(T)) error {
	t.t.Helper()
	if !get(t.t, object) {
		t.t.Fatalf("%T %s is gone", object, object.GetName())
	}
	after := object.DeepCopyObject().(T)
	how(after)
	return as.Patch(t.t.Context(), after, client.MergeFrom(object), client.DryRunAll)
}

func (t *target) pods(what string, how func(*corev1.Pod)) attempt {
	return attempt{what, func() error { return patches(t, t.client, t.pod.DeepCopy(), how) }}
}

// adds adds an ephemeral container that is like the operator's but for a change.
func (t *target) adds(what string, how func(*corev1.EphemeralContainer)) attempt {
	return attempt{what, func() error {
		pod := t.pod.DeepCopy()
		get(t.t, pod)
		after, c := pod.DeepCopy(), t.door()
		c.Name = transport.DoorPrefix + "0123abcd-2"
		how(&c)
		after.Spec.EphemeralContainers = append(after.Spec.EphemeralContainers, c)
		return t.client.SubResource("ephemeralcontainers").Patch(t.t.Context(), after, client.StrategicMergeFrom(pod),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	}}
}

// makes creates what is like a Service of the operator's but for a change.
func (t *target) makes(what string, how func(*corev1.Service)) attempt {
	return attempt{what, func() error {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "other-jmx-0123abcd", Labels: t.service.Labels, OwnerReferences: t.service.OwnerReferences},
			Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "metrics", Port: 9400}}}}
		how(s)
		return t.client.Create(t.t.Context(), s, client.DryRunAll)
	}}
}

// slices creates what is like an EndpointSlice of the operator's but for a change.
func (t *target) slicesOf(what string, how func(*discoveryv1.EndpointSlice)) attempt {
	return attempt{what, func() error {
		s := t.slice.DeepCopy()
		s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "1", Labels: s.Labels, OwnerReferences: s.OwnerReferences}
		how(s)
		return t.client.Create(t.t.Context(), s, client.DryRunAll)
	}}
}

// execs are an exec over each protocol.
func (t *target) execs(what, container string, command []string, tty bool) []attempt {
	var attacks []attempt
	for _, protocol := range []string{"WebSocket", "SPDY"} {
		attacks = append(attacks, attempt{what + ", over " + protocol, func() error {
			return t.executes(protocol, t.pod, corev1.PodExecOptions{Container: container, Command: command, Stdin: true, Stdout: true, Stderr: !tty, TTY: tty})
		}})
	}
	return attacks
}

// changed is the operator's own command but for one argument.
func (t *target) changed(i int, to string) []string {
	command := slices.Clone(t.commands.Current)
	command[i] = to
	return command
}

const otherDigest = "0000000000000000000000000000000000000000000000000000000000000000"

func (t *target) attacks(tenant client.Client) []attempt {
	current := t.commands.Current
	last := len(current) - 1
	return slices.Concat(
		t.execs("another command", "app", []string{"id"}, false),
		t.execs("the script with one argument more", "app", append(slices.Clone(current), "x"), false),
		t.execs("the script with another helper", "app", t.changed(6, otherDigest), false),
		t.execs("the script with another agent", "app", t.changed(last-1, otherDigest), false),
		t.execs("the script with another implementation", "app", t.changed(last, otherDigest), false),
		t.execs("another script", "app", t.changed(2, current[2]+"\nid"), false),
		t.execs("a shell", "app", []string{"sh", "-c", "id"}, false),
		t.execs("a terminal", "app", current, true),
		t.execs("the door's command in an application's container", "app", transport.DoorCommand(), false),
		t.execs("another command in the operator's ephemeral container", doorOfTest, []string{"/jmx-attach", "load"}, false),
		[]attempt{
			t.pods("a pod's image", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "evil" }),
			t.pods("a pod's deadline", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(1)) }),
			t.pods("a pod's labels", func(p *corev1.Pod) { p.Labels["app"] = "payments" }),
			t.pods("annotations of others", func(p *corev1.Pod) { p.Annotations["sidecar.istio.io/inject"] = "false" }),
			t.pods("a pod's owner", func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"}}
			}),
			t.pods("a pod's finalizers", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/never"} }),
			t.adds("an ephemeral container of another image", func(c *corev1.EphemeralContainer) { c.Image = "evil" }),
			t.adds("an ephemeral container of another name", func(c *corev1.EphemeralContainer) { c.Name = "debugger" }),
			t.adds("a privileged one", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = new(true), nil
			}),
			t.adds("one with capabilities", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_PTRACE"}
			}),
			t.adds("one of root with capabilities that its target has not", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}, Drop: []corev1.Capability{"KILL"}}
			}),
			t.adds("one of root that keeps a capability which its target drops", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = nil
			}),
			t.adds("an unconfined one", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
			}),
			t.adds("one with an environment", func(c *corev1.EphemeralContainer) {
				c.Env = append(c.Env, corev1.EnvVar{Name: "LD_PRELOAD", Value: "/tmp/evil.so"})
			}),
			t.adds("one with another command", func(c *corev1.EphemeralContainer) { c.Command = []string{"/manager"} }),
			t.adds("one with arguments", func(c *corev1.EphemeralContainer) { c.Args = []string{"--idle=0"} }),
			t.adds("one without a target", func(c *corev1.EphemeralContainer) { c.TargetContainerName = "" }),
			t.makes("a Service with a selector", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "payments"} }),
			t.makes("a NodePort", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Type = "", corev1.ServiceTypeNodePort }),
			t.makes("a LoadBalancer", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Type = "", corev1.ServiceTypeLoadBalancer }),
			t.makes("an ExternalName", func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example"}
			}),
			t.makes("a Service with external addresses", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"198.51.100.1"} }),
			t.makes("a Service of nobody", func(s *corev1.Service) { s.OwnerReferences = nil }),
			{"another's Service", func() error {
				return patches(t, t.client, t.foreign.DeepCopy(), func(s *corev1.Service) { s.Labels, s.OwnerReferences = t.service.Labels, t.service.OwnerReferences })
			}},
			{"another's Service's selector", func() error {
				return patches(t, t.client, t.foreign.DeepCopy(), func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "evil"} })
			}},
			{"the API server's EndpointSlice", func() error {
				s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}
				return patches(t, t.client, s, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"198.51.100.1"} })
			}},
			{"the deletion of the API server's EndpointSlice", func() error {
				return t.client.Delete(t.t.Context(), &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}, client.DryRunAll)
			}},
			t.slicesOf("an EndpointSlice of another's Service", func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = t.foreign.Name }),
			t.slicesOf("an EndpointSlice without pods", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil }),
			t.slicesOf("an EndpointSlice with a Node", func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Node", Name: "node-1"}
			}),
			t.slicesOf("an EndpointSlice with a pod of another namespace", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef.Namespace = "kube-system" }),
			t.slicesOf("an EndpointSlice of names", func(s *discoveryv1.EndpointSlice) {
				s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeFQDN, []string{"evil.example"}
			}),
			{"a record of a tenant's", func() error {
				r := &v1alpha1.JmxAttachment{ObjectMeta: t.named("mine"), Spec: t.record.Spec}
				return tenant.Create(t.t.Context(), r, client.DryRunAll)
			}},
			{"a record's spec", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Spec.Revision = "mine" })
			}},
			{"a record's status", func() error {
				r := t.record.DeepCopy()
				get(t.t, r)
				after := r.DeepCopy()
				after.Status.Reason = "Mine"
				return tenant.Status().Patch(t.t.Context(), after, client.MergeFrom(r), &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
			{"an exporter's status", func() error {
				e := t.exporter.DeepCopy()
				get(t.t, e)
				after := e.DeepCopy()
				after.Status.Pods = "0/0"
				return tenant.Status().Patch(t.t.Context(), after, client.MergeFrom(e), &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
		},
	)
}

// legitimate is what the operator and people do, and go on doing.
func (t *target) legitimate(tenant client.Client) []attempt {
	return slices.Concat(
		t.execs("a session", "app", t.commands.Current, false),
		t.execs("a session in an ephemeral container", doorOfTest, transport.DoorCommand(), false),
		[]attempt{
			t.pods("our annotations", func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationPort] = "1" }),
			t.adds("a door", func(*corev1.EphemeralContainer) {}),
			t.adds("a door as root, with the target's capabilities", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"KILL"}}
			}),
			t.makes("a Service", func(*corev1.Service) {}),
			t.slicesOf("an EndpointSlice", func(*discoveryv1.EndpointSlice) {}),
			{"the deletion of an EndpointSlice", func() error { return t.client.Delete(t.t.Context(), t.slice.DeepCopy(), client.DryRunAll) }},
			{"the deletion of a record by a tenant", func() error { return tenant.Delete(t.t.Context(), t.record.DeepCopy(), client.DryRunAll) }},
			{"a finalizer of a record", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Finalizers = []string{metav1.FinalizerDeleteDependents} })
			}},
		})
}

// What a stolen token of the operator, or a tenant, tries: RBAC lets them, and the
// policies do not; what the operator does passes.
func TestContainment(t *testing.T) {
	c := contain(t, "default")
	x := newTarget(c)
	tenant := c.tenant()
	attacks, legitimate := x.attacks(tenant), x.legitimate(tenant)
	eventually(t, func() bool { return attacks[0].try() == nil })
	for _, a := range slices.Concat(attacks, legitimate) {
		if err := a.try(); err != nil {
			t.Errorf("without the policies, %s fails, and proves nothing: %v", a.what, err)
		}
	}
	c.enforce(func() bool { return !slices.ContainsFunc(attacks, func(a attempt) bool { return a.try() == nil }) })
	for _, a := range attacks {
		if err := a.try(); !deniedByAny(err) {
			t.Errorf("with the policies, %s comes to: %v", a.what, err)
		}
	}
	for _, a := range legitimate {
		if err := a.try(); err != nil {
			t.Errorf("with the policies, %s is refused: %v", a.what, err)
		}
	}
}

// With config/transport-door, nothing is executed in an application's container, not
// even the operator's own script.
func TestContainmentDoorOnly(t *testing.T) {
	c := contain(t, "transport-door")
	x := newTarget(c)
	script, door := x.execs("the script", "app", c.commands.Current, false), x.execs("the door's", doorOfTest, transport.DoorCommand(), false)
	eventually(t, func() bool { return script[0].try() == nil })
	c.enforce(func() bool { return script[0].try() != nil })
	for _, a := range script {
		if err := a.try(); !deniedByAny(err) {
			t.Errorf("%s comes to: %v", a.what, err)
		}
	}
	for _, a := range door {
		if err := a.try(); err != nil {
			t.Errorf("%s is refused: %v", a.what, err)
		}
	}
}

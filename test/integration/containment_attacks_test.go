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

// An attempt is an action, and its result.
type attempt struct {
	what string
	try  func() error
}

// changed returns the operator's own command with one argument changed.
func (t *target) changed(i int, to string) []string {
	command := slices.Clone(t.commands.Current)
	command[i] = to
	return command
}

// never is a finalizer that is never removed.
var never = []string{"example.com/never"}

// others is an annotation that a foreign controller acts on.
var others = map[string]string{"external-dns.alpha.kubernetes.io/hostname": "payments.example"}

const otherDigest = "0000000000000000000000000000000000000000000000000000000000000000"

func (t *target) attacks(tenant client.Client) []attempt {
	current := t.commands.Current
	last := len(current) - 1
	return slices.Concat(
		t.execs("another command", "app", []string{"id"}, false),
		t.execs("the script is executed with an extra argument", "app", append(slices.Clone(current), "x"), false),
		t.execs("the script is executed with another helper", "app", t.changed(6, otherDigest), false),
		t.execs("the script is executed with another agent", "app", t.changed(last-1, otherDigest), false),
		t.execs("the script is executed with another implementation", "app", t.changed(last, otherDigest), false),
		t.execs("another script is executed", "app", t.changed(2, current[2]+"\nid"), false),
		t.execs("a shell", "app", []string{"sh", "-c", "id"}, false),
		t.execs("a terminal", "app", current, true),
		t.execs("the door's command is executed in an application's container", "app", transport.DoorCommand(), false),
		t.execs("another command is executed in the operator's ephemeral container", doorOfTest, []string{"/jmx-attach", "load"}, false),
		[]attempt{
			t.pods("a pod's image is changed", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "evil" }),
			t.pods("a pod's deadline is changed", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(1)) }),
			t.pods("a pod's labels are changed", func(p *corev1.Pod) { p.Labels["app"] = "payments" }),
			t.pods("foreign annotations of a pod are changed", func(p *corev1.Pod) { p.Annotations["sidecar.istio.io/inject"] = "false" }),
			// The policy leaves only two annotations to OpenShift's admission.
			t.pods("the SCC that a pod requires is changed", func(p *corev1.Pod) { p.Annotations["openshift.io/required-scc"] = "privileged" }),
			t.pods("a pod's owner is changed", func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"}}
			}),
			t.pods("a pod's finalizers are changed", func(p *corev1.Pod) { p.Finalizers = never }),
			t.adds("an ephemeral container of another image is added", func(c *corev1.EphemeralContainer) { c.Image = "evil" }),
			t.adds("an ephemeral container of another name is added", func(c *corev1.EphemeralContainer) { c.Name = "debugger" }),
			t.adds("a privileged ephemeral container is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = new(true), nil
			}),
			t.adds("an ephemeral container with capabilities is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_PTRACE"}
			}),
			t.adds("an ephemeral container that drops one capability instead of all is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser = new(int64(1000))
				c.SecurityContext.Capabilities.Drop = []corev1.Capability{"MKNOD"}
			}),
			t.adds("an ephemeral container that runs as root with capabilities its target lacks is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}, Drop: []corev1.Capability{"KILL"}}
			}),
			t.adds("an ephemeral container that runs as root with a capability its target drops is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = nil
			}),
			t.adds("an unconfined ephemeral container is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
			}),
			t.adds("an ephemeral container with an environment is added", func(c *corev1.EphemeralContainer) {
				c.Env = append(c.Env, corev1.EnvVar{Name: "LD_PRELOAD", Value: "/tmp/evil.so"})
			}),
			t.adds("an ephemeral container with another command is added", func(c *corev1.EphemeralContainer) { c.Command = []string{"/manager"} }),
			t.adds("an ephemeral container with arguments is added", func(c *corev1.EphemeralContainer) { c.Args = []string{"--idle=0"} }),
			t.adds("an ephemeral container with Windows options is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{RunAsUserName: new("ContainerAdministrator")}
			}),
			t.adds("an ephemeral container without a target is added", func(c *corev1.EphemeralContainer) { c.TargetContainerName = "" }),
			t.makes("a Service with a selector is created", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "payments"} }),
			t.makes("a NodePort Service is created", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Type = "", corev1.ServiceTypeNodePort }),
			t.makes("a LoadBalancer Service is created", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Type = "", corev1.ServiceTypeLoadBalancer }),
			t.makes("an ExternalName", func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example"}
			}),
			t.makes("a Service with external addresses is created", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"198.51.100.1"} }),
			t.makes("a Service without an owner is created", func(s *corev1.Service) { s.OwnerReferences = nil }),
			t.makes("a Service with a hostname for external-dns is created", func(s *corev1.Service) { s.Annotations = others }),
			t.makes("a Service that a foreign monitor selects is created", func(s *corev1.Service) { s.Labels["app"] = "payments" }),
			t.makes("a Service that blocks the deletion of its namespace is created", func(s *corev1.Service) { s.Finalizers = never }),
			{"an annotation of the operator's Service is changed", func() error {
				return patches(t, t.client, t.service.DeepCopy(), func(s *corev1.Service) { s.Annotations = others })
			}},
			{"a label of the operator's Service is changed", func() error {
				return patches(t, t.client, t.service.DeepCopy(), func(s *corev1.Service) { s.Labels["app"] = "payments" })
			}},
			{"a foreign Service is changed", func() error {
				return patches(t, t.client, t.foreign.DeepCopy(), func(s *corev1.Service) { s.Labels, s.OwnerReferences = t.service.Labels, t.service.OwnerReferences })
			}},
			{"a foreign Service's selector is changed", func() error {
				return patches(t, t.client, t.foreign.DeepCopy(), func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "evil"} })
			}},
			{"the API server's EndpointSlice is changed", func() error {
				s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}
				return patches(t, t.client, s, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"198.51.100.1"} })
			}},
			{"the API server's EndpointSlice is deleted", func() error {
				return t.client.Delete(t.t.Context(), &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}, client.DryRunAll)
			}},
			t.slicesOf("an EndpointSlice of a foreign Service is created", func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = t.foreign.Name }),
			t.slicesOf("an EndpointSlice with foreign annotations is created", func(s *discoveryv1.EndpointSlice) { s.Annotations = others }),
			t.slicesOf("an EndpointSlice with foreign labels is created", func(s *discoveryv1.EndpointSlice) { s.Labels["app"] = "payments" }),
			t.slicesOf("an EndpointSlice that blocks the deletion of its namespace is created", func(s *discoveryv1.EndpointSlice) { s.Finalizers = never }),
			t.slicesOf("an EndpointSlice without pods is created", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil }),
			t.slicesOf("an EndpointSlice with a Node is created", func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Node", Name: "node-1"}
			}),
			t.slicesOf("an EndpointSlice with a pod of another namespace is created", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef.Namespace = "kube-system" }),
			t.slicesOf("an EndpointSlice with host names is created", func(s *discoveryv1.EndpointSlice) {
				s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeFQDN, []string{"evil.example"}
			}),
			{"a tenant creates a JmxAttachment", func() error {
				r := &v1alpha1.JmxAttachment{ObjectMeta: t.named("mine"), Spec: t.record.Spec}
				return tenant.Create(t.t.Context(), r, client.DryRunAll)
			}},
			{"a tenant creates an EndpointSlice like the exporter's", func() error {
				s := t.slice.DeepCopy()
				s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "2", Labels: s.Labels, OwnerReferences: s.OwnerReferences}
				return tenant.Create(t.t.Context(), s, client.DryRunAll)
			}},
			{"a tenant changes an address of the exporter's EndpointSlice", func() error {
				return patches(t, tenant, t.slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"198.51.100.1"} })
			}},
			{"a tenant changes the manager of the exporter's EndpointSlice", func() error {
				return patches(t, tenant, t.slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "mine" })
			}},
			{"a JmxAttachment's spec is changed", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Spec.Revision = "mine" })
			}},
			{"a JmxAttachment's labels are changed", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Labels[v1alpha1.LabelExporterUID] = "mine" })
			}},
			{"a JmxAttachment's owner is changed", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.OwnerReferences = nil })
			}},
			{"a foreign finalizer is added to a JmxAttachment", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Finalizers = append(r.Finalizers, never...) })
			}},
			{"a tenant forges the operator's annotation of a pod", func() error {
				return patches(t, tenant, t.pod.DeepCopy(), func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationFlag] = "mine" })
			}},
			{"a tenant forges the operator's annotation of a pod by its status", func() error {
				p := t.pod.DeepCopy()
				get(t.t, p)
				after := p.DeepCopy()
				after.Annotations[v1alpha1.AnnotationFlag] = "mine"
				return tenant.Status().Patch(t.t.Context(), after, client.MergeFrom(p), &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
			{"a tenant forges the operator's annotation of a pod by binding it", func() error {
				b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: t.unbound.Name, Annotations: map[string]string{v1alpha1.AnnotationFlag: "mine"}}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
				return tenant.SubResource("binding").Create(t.t.Context(), t.unbound.DeepCopy(), b, &client.SubResourceCreateOptions{CreateOptions: client.CreateOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
			{"a JmxAttachment's status is changed", func() error {
				r := t.record.DeepCopy()
				get(t.t, r)
				after := r.DeepCopy()
				after.Status.Reason = "Mine"
				return tenant.Status().Patch(t.t.Context(), after, client.MergeFrom(r), &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
			{"an exporter's status is changed", func() error {
				e := t.exporter.DeepCopy()
				get(t.t, e)
				after := e.DeepCopy()
				after.Status.Pods = "0/0"
				return tenant.Status().Patch(t.t.Context(), after, client.MergeFrom(e), &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			}},
		},
	)
}

// legitimate returns what the operator and users do, and must still be able to do.
func (t *target) legitimate(tenant client.Client) []attempt {
	return slices.Concat(
		t.execs("a session starts", "app", t.commands.Current, false),
		t.execs("a session in an ephemeral container starts", doorOfTest, transport.DoorCommand(), false),
		[]attempt{
			t.pods("the operator's annotations are changed", func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationPort] = "1" }),
			t.adds("a door is added", func(*corev1.EphemeralContainer) {}),
			// OpenShift's admission adds what an SCC requires, and notes the SCC (docs/platforms.md).
			t.adds("a door from which admission drops a capability that is already dropped is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.Capabilities.Drop = append(c.SecurityContext.Capabilities.Drop, "MKNOD")
			}),
			t.pods("the operator's annotations are changed, and admission notes the SCC", func(p *corev1.Pod) {
				p.Annotations[v1alpha1.AnnotationPort], p.Annotations["openshift.io/scc"], p.Annotations["security.openshift.io/validated-scc-subject-type"] = "1", "restricted-v2", "serviceaccount"
			}),
			{"a tenant adds an ephemeral container", func() error { return t.debugs(tenant) }},
			t.adds("a door that runs as root with the target's capabilities is added", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"KILL"}}
			}),
			t.makes("a Service is created", func(*corev1.Service) {}),
			{"the port of a Service with foreign labels and annotations is changed", func() error {
				change(t.t, t.service.DeepCopy(), func(s *corev1.Service) { s.Labels["team"], s.Annotations = "shop", map[string]string{"team": "shop"} })
				return patches(t, t.client, t.service.DeepCopy(), func(s *corev1.Service) { s.Spec.Ports[0].Port++ })
			}},
			t.slicesOf("an EndpointSlice is created", func(*discoveryv1.EndpointSlice) {}),
			{"an EndpointSlice is deleted", func() error { return t.client.Delete(t.t.Context(), t.slice.DeepCopy(), client.DryRunAll) }},
			{"a tenant changes an annotation of an EndpointSlice", func() error {
				return patches(t, tenant, t.slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Annotations = others })
			}},
			{"a tenant deletes an EndpointSlice", func() error { return tenant.Delete(t.t.Context(), t.slice.DeepCopy(), client.DryRunAll) }},
			{"a tenant deletes a JmxAttachment", func() error { return tenant.Delete(t.t.Context(), t.record.DeepCopy(), client.DryRunAll) }},
			{"a tenant removes the operator's annotation of a pod", func() error {
				return patches(t, tenant, t.pod.DeepCopy(), func(p *corev1.Pod) { delete(p.Annotations, v1alpha1.AnnotationFlag) })
			}},
			{"a tenant changes another annotation of a pod", func() error {
				return patches(t, tenant, t.pod.DeepCopy(), func(p *corev1.Pod) { p.Annotations["team"] = "shop" })
			}},
			{"a tenant restores a pod from a backup", func() error {
				p := aPod("restored").pod
				p.Namespace, p.Annotations = t.namespace, map[string]string{v1alpha1.AnnotationFlag: "of-another-pod"}
				return tenant.Create(t.t.Context(), &p, client.DryRunAll)
			}},
			{"the finalizer of a cascading deletion is added to a JmxAttachment", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Finalizers = []string{metav1.FinalizerDeleteDependents} })
			}},
		})
}

// Attacks with a stolen token of the operator, or by a tenant: RBAC allows them, and the
// policies deny them; the operator's own requests are admitted. Each rule of the policies is
// needed.
func TestContainment(t *testing.T) {
	c := contain(t, "default")
	x := newTarget(c)
	tenant := c.tenant()
	attacks := slices.Concat(x.attacks(tenant), x.templates(), x.slight(), x.beyond())
	legitimate := slices.Concat(x.legitimate(tenant), x.configurations())
	eventually(t, func() bool { return attacks[0].try() == nil && attacks[len(attacks)-2].try() == nil })
	for _, a := range slices.Concat(attacks, legitimate) {
		if err := a.try(); err != nil {
			t.Errorf("without the policies, the attack fails, so this case proves nothing: %s: %v", a.what, err)
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
		for _, a := range attacks {
			if a.try() == nil {
				passed = append(passed, a.what)
			}
		}
		return len(passed) == 0
	})
	for _, a := range attacks {
		if err := a.try(); !deniedByAny(err) {
			t.Errorf("with the policies: %s: got %v, want a denial by a policy", a.what, err)
		}
	}
	for _, a := range legitimate {
		if err := a.try(); err != nil {
			t.Errorf("with the policies: %s: got %v, want admission", a.what, err)
		}
	}
	c.needsEachRule("jmx-exporter-operator-", attacks)
}

// With config/transport-door, nothing is executed in an application's container, not even
// the operator's own script.
func TestContainmentDoorOnly(t *testing.T) {
	c := contain(t, "transport-door")
	x := newTarget(c)
	script, door := x.execs("the script is executed", "app", c.commands.Current, false), x.execs("the door's command is executed", doorOfTest, transport.DoorCommand(), false)
	eventually(t, func() bool { return script[0].try() == nil })
	c.enforce(func() bool { return script[0].try() != nil })
	for _, a := range script {
		if err := a.try(); !deniedByAny(err) {
			t.Errorf("%s: got %v, want a denial by a policy", a.what, err)
		}
	}
	for _, a := range door {
		if err := a.try(); err != nil {
			t.Errorf("%s: got %v, want admission", a.what, err)
		}
	}
	c.needsEachRule("jmx-exporter-operator-door-only.", script)
}

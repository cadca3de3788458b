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

// changed is the operator's own command but for one argument.
func (t *target) changed(i int, to string) []string {
	command := slices.Clone(t.commands.Current)
	command[i] = to
	return command
}

// never is a finalizer that nobody removes.
var never = []string{"example.com/never"}

// others is an annotation that a controller of somebody else's acts upon.
var others = map[string]string{"external-dns.alpha.kubernetes.io/hostname": "payments.example"}

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
			t.pods("a pod's finalizers", func(p *corev1.Pod) { p.Finalizers = never }),
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
			t.adds("one with options for Windows", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{RunAsUserName: new("ContainerAdministrator")}
			}),
			t.adds("one without a target", func(c *corev1.EphemeralContainer) { c.TargetContainerName = "" }),
			t.makes("a Service with a selector", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "payments"} }),
			t.makes("a NodePort", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Type = "", corev1.ServiceTypeNodePort }),
			t.makes("a LoadBalancer", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Type = "", corev1.ServiceTypeLoadBalancer }),
			t.makes("an ExternalName", func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example"}
			}),
			t.makes("a Service with external addresses", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"198.51.100.1"} }),
			t.makes("a Service of nobody", func(s *corev1.Service) { s.OwnerReferences = nil }),
			t.makes("a Service that names a host for external-dns", func(s *corev1.Service) { s.Annotations = others }),
			t.makes("a Service that a monitor of others selects", func(s *corev1.Service) { s.Labels["app"] = "payments" }),
			t.makes("a Service that holds its namespace", func(s *corev1.Service) { s.Finalizers = never }),
			{"an annotation of its own Service", func() error {
				return patches(t, t.client, t.service.DeepCopy(), func(s *corev1.Service) { s.Annotations = others })
			}},
			{"a label of its own Service", func() error {
				return patches(t, t.client, t.service.DeepCopy(), func(s *corev1.Service) { s.Labels["app"] = "payments" })
			}},
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
			t.slicesOf("an EndpointSlice with annotations of others", func(s *discoveryv1.EndpointSlice) { s.Annotations = others }),
			t.slicesOf("an EndpointSlice with labels of others", func(s *discoveryv1.EndpointSlice) { s.Labels["app"] = "payments" }),
			t.slicesOf("an EndpointSlice that holds its namespace", func(s *discoveryv1.EndpointSlice) { s.Finalizers = never }),
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
			{"a tenant's EndpointSlice that is like the exporter's", func() error {
				s := t.slice.DeepCopy()
				s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "2", Labels: s.Labels, OwnerReferences: s.OwnerReferences}
				return tenant.Create(t.t.Context(), s, client.DryRunAll)
			}},
			{"an address of the exporter's EndpointSlice, by a tenant", func() error {
				return patches(t, tenant, t.slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"198.51.100.1"} })
			}},
			{"the manager of the exporter's EndpointSlice, by a tenant", func() error {
				return patches(t, tenant, t.slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "mine" })
			}},
			{"a record's spec", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Spec.Revision = "mine" })
			}},
			{"a record's labels", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.Labels[v1alpha1.LabelExporterUID] = "mine" })
			}},
			{"a record's owner", func() error {
				return patches(t, tenant, t.record.DeepCopy(), func(r *v1alpha1.JmxAttachment) { r.OwnerReferences = nil })
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
			t.adds("a door of the release before", func(c *corev1.EphemeralContainer) { c.Image = "registry.example/operator:0" }),
			t.adds("a door as root, with the target's capabilities", func(c *corev1.EphemeralContainer) {
				c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = new(int64(0)), nil
				c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"KILL"}}
			}),
			t.makes("a Service", func(*corev1.Service) {}),
			{"the port of a Service that others labeled and annotated", func() error {
				change(t.t, t.service.DeepCopy(), func(s *corev1.Service) { s.Labels["team"], s.Annotations = "shop", map[string]string{"team": "shop"} })
				return patches(t, t.client, t.service.DeepCopy(), func(s *corev1.Service) { s.Spec.Ports[0].Port++ })
			}},
			t.slicesOf("an EndpointSlice", func(*discoveryv1.EndpointSlice) {}),
			{"the deletion of an EndpointSlice", func() error { return t.client.Delete(t.t.Context(), t.slice.DeepCopy(), client.DryRunAll) }},
			{"an annotation of an EndpointSlice by a tenant", func() error {
				return patches(t, tenant, t.slice.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Annotations = others })
			}},
			{"the deletion of an EndpointSlice by a tenant", func() error { return tenant.Delete(t.t.Context(), t.slice.DeepCopy(), client.DryRunAll) }},
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
	var passed []string
	defer func() {
		if len(passed) > 0 {
			t.Errorf("with the policies, these still pass: %q", passed)
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

package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// afterPeriod is when a Secret is read again, and the operator's right reviewed.
const afterPeriod = 12 * time.Minute

// secretFor returns a Secret with a new certificate, of the name that the tests use.
func (c *cluster) secretFor() *corev1.Secret {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: c.clock.Now().Add(24 * time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: c.named("metrics"), Data: map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}}
}

// exportSecured creates an exporter whose endpoints use that Secret.
func (c *cluster) exportSecured() *v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	c.configure(rules)
	e := c.anExporter("exporter")
	e.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	return create(c.t, e)
}

// securedPod is a pod of an exporter with a Secret.
type securedPod struct {
	*story
	o *operator
}

// expect checks the exporter's condition about its Secret, the pod's phase, and the scheme
// of its endpoint.
func (p *securedPod) expect(when, valid, phase, scheme string) {
	p.t.Helper()
	p.o.settle()
	get(p.t, p.exporter)
	if c := meta.FindStatusCondition(p.exporter.Status.Conditions, v1alpha1.ConditionConfigValid); c.Reason != valid {
		p.t.Errorf("%s: ConfigValid of the exporter: got %s %q, want %s", when, c.Reason, c.Message, valid)
	}
	a := p.attachment(p.pod)
	if got := phaseOf(a); got != phase {
		p.t.Errorf("%s: phase of %s: got %q, want %q", when, p.pod.Name, got, phase)
	}
	if got := p.annotations(p.pod)[v1alpha1.AnnotationScheme]; got != scheme {
		p.t.Errorf("%s: scheme annotation of %s: got %q, want %q", when, p.pod.Name, got, scheme)
	}
	for _, slice := range p.slices(p.exporter) {
		if got := ptr.Deref(slice.Ports[0].AppProtocol, ""); got != scheme {
			p.t.Errorf("%s: appProtocol of the EndpointSlice: got %q, want %q", when, got, scheme)
		}
	}
	if process := a.Status.Processes[0]; (process.SecuritySHA256 != "") != (scheme != "") || (process.CertificateSHA256 != "") != (scheme != "") {
		p.t.Errorf("%s: the status has the security %q with the certificate %q", when, process.SecuritySHA256, process.CertificateSHA256)
	}
}

// expectExpiry checks when the certificate expires according to the exporter's status.
func (p *securedPod) expectExpiry(when string, want *metav1.Time) {
	p.t.Helper()
	if got := p.exporter.Status.CertificateNotAfter; !got.Equal(want) {
		p.t.Errorf("%s: certificateNotAfter of the exporter: got %v, want %v", when, got, want)
	}
}

// A Secret is created, changed, made invalid and deleted: each change is one reload, an
// existing endpoint keeps serving, and the agent is loaded once.
func TestEndpointSecurity(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := &securedPod{&story{c, c.run(aPod("app-0")), c.exportSecured()}, c.operate()}
	p.expect("the Secret is missing", v1alpha1.ReasonSecretNotFound, "JavaFound SecretNotFound", "")
	if len(p.annotations(p.pod)) > 0 || p.jvm(p.pod).Loads > 0 {
		t.Error("the agent serves without TLS while the Secret is missing")
	}

	secret := create(t, p.secretFor())
	expires := metav1.NewTime(c.clock.Now().Add(24 * time.Hour).Truncate(time.Second)) // before time passes
	p.later(afterPeriod)
	p.expect("the Secret is created", v1alpha1.ReasonValid, isAnnotated, "https")
	p.expectExpiry("the Secret is created", &expires)
	first := p.attachment(p.pod).Status.Processes[0]

	p.o.did()
	p.later(2 * source.SecretPeriod)
	if p.o.settle(); p.o.count() > 0 {
		t.Errorf("effects of an unchanged Secret: got %q, want none", p.o.did())
	}

	change(t, secret, func(s *corev1.Secret) { s.Data = p.secretFor().Data })
	p.later(2 * source.SecretPeriod)
	p.o.did()
	p.expect("the certificate is rotated", v1alpha1.ReasonValid, isAnnotated, "https")
	did := strings.Join(p.o.did(), ", ")
	if strings.Count(did, "exec load") != 1 || strings.Count(did, "exec stage") != 1 {
		t.Errorf("effects of a rotation: got %s, want one stage and one load", did)
	}
	second := p.attachment(p.pod).Status.Processes[0]
	if second.SecuritySHA256 == first.SecuritySHA256 || second.CertificateSHA256 == first.CertificateSHA256 {
		t.Error("the status has the previous certificate after the rotation")
	}

	change(t, secret, func(s *corev1.Secret) { delete(s.Data, corev1.TLSPrivateKeyKey) })
	p.later(2 * source.SecretPeriod)
	p.o.did()
	p.expect("the key is removed", v1alpha1.ReasonSecretInvalid, isAnnotated, "https")
	remove(t, secret)
	p.later(2 * source.SecretPeriod)
	p.expect("the Secret is deleted", v1alpha1.ReasonSecretNotFound, isAnnotated, "https")
	if p.exporter.Status.CertificateNotAfter == nil {
		t.Error("the status does not have the certificate that is still served")
	}
	if did := strings.Join(p.o.did(), ", "); strings.Contains(did, "exec") {
		t.Errorf("a serving agent was changed: %s", did)
	}

	change(t, p.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.EndpointSecurity = nil })
	p.expect("TLS is turned off", v1alpha1.ReasonValid, isAnnotated, "")
	p.expectExpiry("TLS is turned off", nil)
	create(t, p.secretFor())
	change(t, p.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	})
	p.later(2 * source.SecretPeriod)
	p.expect("TLS is turned on while the endpoint serves", v1alpha1.ReasonValid, isAnnotated, "https")
	if restores := p.attachment(p.pod).Status.Restores; restores != nil {
		t.Errorf("annotations restored: got %d, want none", restores.Count)
	}
	if loads := p.jvm(p.pod).Loads; loads != 1 {
		t.Errorf("loads of the agent: got %d, want 1", loads)
	}
}

// The operator reads Secrets where config/endpoint-security grants it, and nowhere else.
func TestSecretByRole(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	name := c.user("operator")
	c.grant(name, "../../config/rbac/role.yaml")
	reader := as(t, name)
	s, exporter := source.New(admin, reader, c.clock), c.exportSecured()
	create(t, c.secretFor())
	inputs, err := s.Get(t.Context(), exporter)
	if p := inputs.Security.Problem; err != nil || p == nil || p.Reason != v1alpha1.ReasonSecretForbidden || !strings.Contains(p.Message, "config/endpoint-security") {
		t.Errorf("without the role: got %+v, %v, want SecretForbidden", p, err)
	}
	c.grant(name, "../../config/endpoint-security/role.yaml")
	eventually(t, func() bool {
		c.later(2 * source.SecretPeriod)
		inputs, err := s.Get(t.Context(), exporter)
		return err == nil && inputs.Problem() == nil
	})
	if err := reader.List(t.Context(), &corev1.SecretList{}); err == nil {
		t.Error("the role allows the operator to list Secrets")
	}
}

var mayReadSecret = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"metrics"}, Verbs: []string{"get"}}

// A user who may attach cannot bring a Secret into a pod without the right to get it: the
// admission policy denies it, and without the policy the operator does, which reviews the author of the spec.
func TestSecretOfOthers(t *testing.T) {
	t.Parallel()
	secures := patch(`{"spec":{"endpointSecurity":{"secretName":"metrics"}}}`)
	if n := newTenancy(t); n.alice.Patch(t.Context(), n.exporter, secures) != nil {
		t.Error("the attack fails even without the policies, so this case proves nothing")
	}
	n := newTenancy(t, onCreator...)
	if err := n.alice.Patch(t.Context(), n.exporter, secures); !denied(err, "jmx-exporter-operator-creator") || !strings.Contains(err.Error(), "may not get Secret metrics") {
		t.Errorf("got %v, want a denial by the policy", err)
	}
	n.bind("alice", mayReadSecret)
	eventually(t, func() bool { return n.alice.Patch(t.Context(), n.exporter, secures) == nil })
	n.bind("bob", mayWrite, mayExec)
	bob := as(t, n.user("bob"))
	eventually(t, func() bool {
		return denied(bob.Patch(t.Context(), n.exporter, patch(`{"spec":{"labelSelector":{"app":"bobs"}}}`)), "jmx-exporter-operator-creator")
	})

	f, _ := stampedFleet(t)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	})
	create(t, f.secretFor())
	f.pods = []*corev1.Pod{f.run(aPod("app-0"))}
	f.expect("the requester may not read the Secret", "JavaFound NotAuthorized")
	get(t, f.exporter)
	if c := meta.FindStatusCondition(f.exporter.Status.Conditions, v1alpha1.ConditionConfigValid); !strings.Contains(c.Message, "may not get Secret metrics") {
		t.Errorf("message of ConfigValid does not name the Secret: %s", c.Message)
	}
	f.bind("alice", mayReadSecret)
	eventually(t, func() bool {
		f.later(afterPeriod)
		f.o.settle()
		return phaseOf(f.attachment(f.pods[0])) == isAnnotated
	})
}

// A Secret that the agent rejects halts the rollout; existing endpoints keep serving with
// the previous one, and a corrected Secret needs no second load.
func TestSecurityRejected(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := &securedPod{&story{c, c.run(aPod("app-0")), c.exportSecured()}, c.operate()}
	secret := create(t, p.secretFor())
	p.expect("the Secret is created", v1alpha1.ReasonValid, isAnnotated, "https")
	before := p.attachment(p.pod).Status.Processes[0]

	p.jvm(p.pod).Fault = fault(v1alpha1.ReasonSecurityRejected)
	change(t, secret, func(s *corev1.Secret) { s.Data = p.secretFor().Data })
	p.later(2 * source.SecretPeriod)
	p.expect("the Secret is rejected", v1alpha1.ReasonValid, "Staged SecurityRejected", "https")
	if halt := p.exporter.Status.Halt; halt == nil || halt.Reason != v1alpha1.ReasonSecurityRejected || !strings.Contains(halt.Message, "change the Secret") {
		t.Errorf("got halt %+v, want SecurityRejected", halt)
	}
	if p.endpoints(p.exporter) == "" || p.annotations(p.pod)[v1alpha1.AnnotationPort] != "9400" {
		t.Error("the endpoint was removed, although the agent keeps serving its previous configuration")
	}
	if after := p.attachment(p.pod).Status.Processes[0]; after.CertificateSHA256 != before.CertificateSHA256 {
		t.Error("the status has a certificate that the agent rejected")
	}
	p.later(time.Hour)
	p.o.did()
	if p.o.settle(); p.o.count() > 0 {
		t.Errorf("effects after the rejection: got %q, want none", p.o.did())
	}

	p.jvm(p.pod).Fault = nil
	change(t, secret, func(s *corev1.Secret) { s.Data = p.secretFor().Data })
	p.later(2 * source.SecretPeriod)
	p.expect("the Secret is corrected", v1alpha1.ReasonValid, isAnnotated, "https")
	if loads := p.jvm(p.pod).Loads; loads != 1 {
		t.Errorf("loads of the agent: got %d, want 1", loads)
	}
}

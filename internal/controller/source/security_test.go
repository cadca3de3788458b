package source

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// secrets is an API server with ConfigMaps and a Secret, which counts reads of the Secret.
type secrets struct {
	configMaps
	data map[string][]byte
	err  error
	got  int
}

func (s *secrets) Get(ctx context.Context, at client.ObjectKey, object client.Object, options ...client.GetOption) error {
	found, ok := object.(*corev1.Secret)
	if !ok {
		return s.configMaps.Get(ctx, at, object, options...)
	}
	s.got++
	found.Data = s.data
	return s.err
}

// readers is an Authority by which one user may read Secrets.
type readers struct{ user string }

func (readers) MayAttach(context.Context, steps.Requester, types.NamespacedName) (bool, error) {
	return false, errors.New("no one attaches in these tests")
}

func (readers) MayExec(context.Context, steps.Requester, types.NamespacedName) (bool, error) {
	return false, errors.New("no one attaches in these tests")
}

func (r readers) MayRead(_ context.Context, who steps.Requester, _ types.NamespacedName) (bool, error) {
	return who.User == r.user, nil
}

var begin = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// aCertificate returns the content of a Secret with a new key.
func aCertificate(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: begin.Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
	}
}

func secured() *v1alpha1.PrometheusJmxExporter {
	e := &v1alpha1.PrometheusJmxExporter{}
	e.Namespace, e.Name = "shop", "exporter"
	e.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "a"}
	e.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"}
	return e
}

// A Secret is read once in a period for all pods, and at once for another name or
// requester.
func TestSecretIsReadOnceInAPeriod(t *testing.T) {
	reader, clock := &secrets{data: aCertificate(t)}, testclock.NewFakePassiveClock(begin)
	s, exporter := New(reader, reader, clock), secured()
	get := func() steps.Security {
		t.Helper()
		inputs, err := s.Get(t.Context(), exporter)
		if err != nil || inputs.Problem() != nil {
			t.Fatal(err, inputs.Problem())
		}
		return inputs.Security
	}
	first := get()
	if first.SHA256 == "" || first.CertificateSHA256 == "" || !strings.HasPrefix(first.Name, "security-") {
		t.Errorf("the Secret is read as %s with certificate %q", first.Name, first.CertificateSHA256)
	}
	name := client.ObjectKeyFromObject(exporter)
	if wait := s.RereadAfter(name); wait < SecretPeriod || wait > SecretPeriod*11/10 {
		t.Errorf("next read: got %s, want about %s", wait, SecretPeriod)
	}
	reader.data = aCertificate(t)
	clock.SetTime(begin.Add(SecretPeriod - time.Second))
	if get().SHA256 != first.SHA256 || reader.got != 1 {
		t.Errorf("reads within a period: got %d, want 1 with the same content", reader.got)
	}
	clock.SetTime(begin.Add(2 * SecretPeriod))
	if s.RereadAfter(name) > time.Second {
		t.Error("the Secret is not due after the period")
	}
	second := get()
	if second.SHA256 == first.SHA256 || second.CertificateSHA256 == first.CertificateSHA256 || reader.got != 2 {
		t.Errorf("reads after a period: got %d, want 2 with other content", reader.got)
	}
	exporter.Spec.EndpointSecurity.SecretName = "other"
	if get(); reader.got != 3 {
		t.Error("a Secret of another name is not read")
	}
	exporter.Annotations = map[string]string{v1alpha1.AnnotationRequester: "bob"}
	if get(); reader.got != 4 {
		t.Error("the Secret is not read for another requester")
	}
	exporter.Spec.EndpointSecurity = nil
	if get().SHA256 != "" || s.RereadAfter(name) != 0 {
		t.Error("the Secret is kept for an exporter that no longer refers to one")
	}
}

func TestSecretProblem(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	broken := aCertificate(t)
	broken["tls.key"] = []byte("hunter2")
	for name, tc := range map[string]struct {
		data      map[string][]byte
		err       error
		requester string
		groups    string
		want      string
		says      []string
		read      bool
	}{
		"the Secret does not exist":             {err: apierrors.NewNotFound(resource, "metrics"), want: v1alpha1.ReasonSecretNotFound, says: []string{"Secret metrics", "spec.endpointSecurity.secretName"}, read: true},
		"the Secret is forbidden":               {err: apierrors.NewForbidden(resource, "metrics", nil), want: v1alpha1.ReasonSecretForbidden, says: []string{"config/endpoint-security", "namespace shop"}, read: true},
		"the Secret is invalid":                 {data: broken, want: v1alpha1.ReasonSecretInvalid, says: []string{"Secret metrics, key tls.key has no PEM private key"}, read: true},
		"the requester may read the Secret":     {data: aCertificate(t), requester: "alice", groups: "[]", read: true},
		"the requester may not read the Secret": {data: aCertificate(t), requester: "bob\u202e", groups: "[]", want: v1alpha1.ReasonNotAuthorized, says: []string{`User "bob?"`, "Secret metrics in namespace shop", v1alpha1.AnnotationResume}},
		"the stamp is invalid":                  {data: aCertificate(t), requester: "alice", groups: "alice", want: v1alpha1.ReasonNotAuthorized, says: []string{v1alpha1.AnnotationRequesterGroups, "config/stamp"}},
		"there is no stamp":                     {data: aCertificate(t), read: true},
	} {
		reader := &secrets{data: tc.data, err: tc.err}
		s, exporter := New(reader, reader, testclock.NewFakePassiveClock(begin)), secured()
		s.Authority = readers{"alice"}
		if tc.requester != "" {
			exporter.Annotations = map[string]string{v1alpha1.AnnotationRequester: tc.requester, v1alpha1.AnnotationRequesterGroups: tc.groups}
		}
		inputs, err := s.Get(t.Context(), exporter)
		problem := steps.Problem{}
		if p := inputs.Problem(); p != nil {
			problem = *p
		}
		if err != nil || problem.Reason != tc.want || (reader.got > 0) != tc.read || (inputs.Security.SHA256 != "") != (tc.want == "") {
			t.Errorf("%s: got problem %+v, %v after %d reads", name, problem, err, reader.got)
		}
		for _, says := range tc.says {
			if !strings.Contains(problem.Message, says) {
				t.Errorf("%s: message: got %q, want it to contain %s", name, problem.Message, says)
			}
		}
		if strings.Contains(problem.Message, "hunter2") {
			t.Errorf("%s: the message contains the Secret: %q", name, problem.Message)
		}
	}
	reader := &secrets{err: errors.New("no answer")}
	if _, err := New(reader, reader, testclock.NewFakePassiveClock(begin)).Get(t.Context(), secured()); err == nil {
		t.Error("a failed read of the Secret is reported as an answer")
	}
}

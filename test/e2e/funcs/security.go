package funcs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Security is an authority, and what it and a password secure in a namespace: the Secret
// metrics of the endpoints, and the Secret scraper of who scrapes them.
type Security struct {
	namespace string
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	before    map[string]string // digests of certificates by pod
}

// SecurityIn is one of a namespace. Create makes it.
func SecurityIn(namespace string) *Security { return &Security{namespace: namespace} }

const scraperPassword = "a password of this test"

// Create makes both Secrets.
func (s *Security) Create() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		self := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(24 * time.Hour),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, self, self, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		if s.authority, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		s.key = key
		authority := block("CERTIFICATE", der)
		scraper := s.pair(t, "scraper")
		scraper["ca.crt"], scraper["password"] = authority, []byte(scraperPassword)
		s.write(ctx, t, c, "scraper", scraper)
		s.write(ctx, t, c, "metrics", s.endpoints(t, authority))
	})
}

// Rotate gives the endpoints another certificate of the same authority, and waits until
// each pod serves it, with the agent that was there.
func (s *Security) Rotate() features.Func {
	return All(
		verb(func(ctx context.Context, t *testing.T, c *cluster) {
			t.Helper()
			s.before = map[string]string{}
			records, err := c.attachments(ctx, s.namespace)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				s.before[r.Spec.Pod.Name] = r.Status.Processes[0].CertificateSHA256
			}
			s.write(ctx, t, c, "metrics", s.endpoints(t, block("CERTIFICATE", s.authority.Raw)))
		}),
		attachmentsOf(s.namespace).untilEach(func(_ context.Context, _ *cluster, r *v1alpha1.JmxAttachment) error {
			before, now := s.before[r.Spec.Pod.Name], r.Status.Processes[0].CertificateSHA256
			if before == "" || now == "" || now == before {
				return fmt.Errorf("%s: the certificate was %.12s, and is %.12s", r.Spec.Pod.Name, before, now)
			}
			return nil
		}),
	)
}

// endpoints is the content of the Secret metrics, with a new certificate.
func (s *Security) endpoints(t *testing.T, authority []byte) map[string][]byte {
	t.Helper()
	const iterations = 1000
	salt := []byte("of the test")
	hash, err := pbkdf2.Key(sha256.New, scraperPassword, salt, iterations, sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	data := s.pair(t, "metrics")
	for key, value := range map[string]string{
		"client-ca.crt": string(authority), "username": "prometheus", "passwordHash": hex.EncodeToString(hash), "salt": hex.EncodeToString(salt),
		"algorithm": "PBKDF2WithHmacSHA256", "iterations": strconv.Itoa(iterations),
	} {
		data[key] = []byte(value)
	}
	return data
}

// pair is a certificate of the authority for a name, and its key.
func (s *Security) pair(t *testing.T, name string) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: s.authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, s.authority, key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{corev1.TLSCertKey: block("CERTIFICATE", der), corev1.TLSPrivateKeyKey: block("PRIVATE KEY", private)}
}

func (s *Security) write(ctx context.Context, t *testing.T, c *cluster, name string, data map[string][]byte) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: data}
		err := c.Create(ctx, secret)
		if client.IgnoreAlreadyExists(err) == nil && err != nil {
			err = c.Update(ctx, secret)
		}
		return err
	})
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Refuses waits until the endpoints answer neither in the clear nor to who has no
// certificate, and say to whoever asks that they are well.
func (s *Security) Refuses(port int32) features.Func {
	return podsOf(s.namespace, label).untilEach(func(ctx context.Context, c *cluster, pod *corev1.Pod) error {
		if page, err := c.get(ctx, pod.Namespace, pod.Name, port, "/metrics"); err == nil {
			return fmt.Errorf("%s answers in the clear: %.100s", pod.Name, page)
		}
		if _, err := c.getAs(ctx, pod.Namespace, pod.Name, port, "https", "/metrics", ""); err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
			return fmt.Errorf("%s answers without a certificate: %w", pod.Name, outcome(err))
		}
		_, err := c.getAs(ctx, pod.Namespace, pod.Name, port, "https", "/-/healthy", "")
		return err
	})
}

// Scheme waits until the pods are annotated with a scheme; with none if it is empty.
func Scheme(namespace, scheme string) features.Func {
	return podsOf(namespace, label).untilEach(func(_ context.Context, _ *cluster, pod *corev1.Pod) error {
		if have := pod.Annotations[v1alpha1.AnnotationScheme]; have != scheme {
			return fmt.Errorf("%s has the scheme %q, not %q", pod.Name, have, scheme)
		}
		return nil
	})
}

package integration

import (
	"context"
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/manager"
)

// Clients of the operator's metrics negotiate TLS 1.3, or TLS 1.2 with an ephemeral key and
// authenticated encryption. With each of Go's other suites, the handshake fails.
func TestMetricsCipherSuites(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	folder := t.TempDir()
	trusted := writeCertificate(t, folder) // with an RSA key
	address := c.serveMetrics(manager.CertificateFiles{Dir: folder, Cert: "tls.crt", Key: "tls.key"})
	shakesHands := func(version uint16, suites ...uint16) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: trusted, MinVersion: version, MaxVersion: version, CipherSuites: suites}}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false
		}
		connection.Close()
		return true
	}
	eventually(t, func() bool { return shakesHands(tls.VersionTLS13) })
	if shakesHands(tls.VersionTLS11) {
		t.Error("a handshake with TLS 1.1 succeeds")
	}
	var accepted []string
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) && shakesHands(tls.VersionTLS12, suite.ID) {
			accepted = append(accepted, suite.Name)
		}
	}
	for _, name := range accepted {
		if !strings.HasPrefix(name, "TLS_ECDHE_") || !strings.Contains(name, "_GCM_") && !strings.Contains(name, "_POLY1305_") {
			t.Errorf("a handshake with %s succeeds", name)
		}
	}
	if len(accepted) < 3 { // a control: two with AES, one with ChaCha20
		t.Errorf("suites of TLS 1.2 that are accepted: got %q, want three", accepted)
	}
}

package manager

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// CertificateFiles are a certificate and its key in a directory, such as a mounted
// Secret, which the kubelet replaces. Without a directory, the certificate is
// self-signed.
type CertificateFiles struct{ Dir, Cert, Key string }

// metricsOptions returns the options for serving the operator's metrics.
func metricsOptions(address string, secure bool, files CertificateFiles) (metricsserver.Options, error) {
	options := metricsserver.Options{BindAddress: address}
	if !secure {
		return options, nil
	}
	options.SecureServing = true
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	options.TLSOpts = []func(*tls.Config){harden}
	if files.Dir == "" {
		return options, nil
	}
	// A missing file would silently be replaced by a self-signed certificate.
	for _, name := range []string{files.Cert, files.Key} {
		if _, err := os.Stat(filepath.Join(files.Dir, name)); err != nil {
			return options, fmt.Errorf("cannot read the certificate of the metrics (--metrics-cert-path): %w", err)
		}
	}
	options.CertDir, options.CertName, options.KeyName = files.Dir, files.Cert, files.Key
	return options, nil
}

// harden restricts what clients of the metrics may negotiate.
func harden(c *tls.Config) {
	// A scrape needs no multiplexing, and HTTP/2 would add its denial of service
	// attacks.
	c.NextProtos = []string{"http/1.1"}
	c.MinVersion = tls.VersionTLS12
	// Go also accepts suites with CBC, against which there are attacks. All of TLS 1.3 are
	// like these: an ephemeral key, and authenticated encryption.
	c.CipherSuites = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

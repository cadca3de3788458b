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
	// A scrape needs no multiplexing, and HTTP/2 would add its denial of service
	// attacks.
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
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

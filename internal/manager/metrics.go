package manager

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// CertificateFiles are a certificate and its key in a folder: a Secret that is mounted,
// which the kubelet replaces. Without a folder the certificate is self-signed.
type CertificateFiles struct{ Dir, Cert, Key string }

// metrics are how the operator's own metrics are served.
func (o Options) metrics() (metricsserver.Options, error) {
	options := metricsserver.Options{BindAddress: o.MetricsAddress}
	if !o.MetricsSecure {
		return options, nil
	}
	options.SecureServing = true
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	// One scrape needs no multiplexing; HTTP/2 would only add its denials of service.
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	files := o.MetricsCertificate
	if files.Dir == "" {
		return options, nil
	}
	// A file that is missing would silently be made up for by a self-signed one.
	for _, name := range []string{files.Cert, files.Key} {
		if _, err := os.Stat(filepath.Join(files.Dir, name)); err != nil {
			return options, fmt.Errorf("cannot read the certificate of the metrics (--metrics-cert-path): %w", err)
		}
	}
	options.CertDir, options.CertName, options.KeyName = files.Dir, files.Cert, files.Key
	return options, nil
}

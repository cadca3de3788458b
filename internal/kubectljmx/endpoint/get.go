package endpoint

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// maxResponse limits what is read of a response: no collection is that large.
const maxResponse = 256 << 20

// Credentials are what a secured endpoint may need.
type Credentials struct {
	Username, Password string
	Certificate        *tls.Certificate
}

// Errors of a secured endpoint, whose credentials the user has to give.
var (
	ErrPassword    = errors.New("the endpoint needs a password: give it with --password-file, and the name with --username unless you may read the Secret of spec.endpointSecurity")
	ErrCertificate = errors.New("the endpoint needs a client certificate that client-ca.crt of the Secret of spec.endpointSecurity signed: give it with --cert and --key")
)

// Metrics returns the response of the endpoint, of the named metrics if there are names.
func Metrics(ctx context.Context, c *cluster.Cluster, t Target, credentials Credentials, names ...string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if t.TLS && t.CertificateSHA256 == "" {
		return "", fmt.Errorf("the record of pod %s does not say which certificate its endpoint has, so nothing is sent to it; kubectl jmx why -n %s %s", t.Pod, t.Namespace, t.Pod)
	}
	address, said, err := forward(ctx, c, t)
	if err != nil {
		return "", err
	}
	scheme := "http"
	if t.TLS {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/metrics?"+url.Values{"name[]": names}.Encode(), nil)
	if err != nil {
		return "", err
	}
	if t.TLS && credentials.Password != "" { // never in clear text, to whoever listens there
		request.SetBasicAuth(credentials.Username, credentials.Password)
	}
	request.Header.Set("Accept", "text/plain; version=0.0.4")
	response, err := clientOf(t, credentials).Do(request)
	if err != nil {
		return "", fmt.Errorf("port %d of pod %s does not answer: %w%s", t.Port, t.Pod, err, said)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return "", ErrPassword
	case response.StatusCode == http.StatusForbidden && t.TLS:
		return "", ErrCertificate
	case response.StatusCode != http.StatusOK:
		first, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return "", fmt.Errorf("port %d of pod %s answers /metrics with %s: %.200s", t.Port, t.Pod, response.Status, first)
	case err != nil:
		return "", fmt.Errorf("the response of port %d of pod %s is not complete: %w", t.Port, t.Pod, err)
	}
	return string(body), nil
}

// clientOf returns a client that speaks TLS only with the holder of the certificate of which
// the operator recorded the digest: a name or an authority would prove less.
func clientOf(t Target, credentials Credentials) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies
		VerifyConnection: func(state tls.ConnectionState) error {
			served := sha256.Sum256(state.PeerCertificates[0].Raw)
			if digest := hex.EncodeToString(served[:]); digest != t.CertificateSHA256 {
				return fmt.Errorf("a foreign process answers: the SHA-256 of its certificate is %s, not %s as in the record", digest, t.CertificateSHA256)
			}
			return nil
		},
	}}
	if credentials.Certificate != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*credentials.Certificate}
	}
	return &http.Client{Transport: transport}
}

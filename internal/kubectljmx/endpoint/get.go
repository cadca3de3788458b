package endpoint

import (
	"cmp"
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
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// DefaultTimeout is longer than the default scrape timeout of Prometheus, because the
// port-forward takes time, too.
const DefaultTimeout = 15 * time.Second

// MaxResponse is larger than any collection.
const MaxResponse = 256 << 20

// Credentials are what a secured endpoint may need.
type Credentials struct {
	Username, Password string
	Certificate        *tls.Certificate
}

// Request is what is requested of an endpoint, and how much is read of its response.
type Request struct {
	Credentials
	// Names are those of the metrics; all if empty.
	Names []string
	// Timeout limits the port-forward and the response together.
	Timeout  time.Duration
	MaxBytes int64
}

// unauthorized returns the error for credentials without the right password.
func (c Credentials) unauthorized() error {
	if c.Password == "" {
		return errors.New("the endpoint needs a password: give it with --password-file, and the name with --username unless you may read the Secret of spec.endpointSecurity")
	}
	return fmt.Errorf("the endpoint does not accept the password of --password-file for user %q: the hash in the Secret of spec.endpointSecurity is of another one, or the user name differs", c.Username)
}

// forbidden returns the error for credentials without the right certificate.
func (c Credentials) forbidden() error {
	if c.Certificate == nil {
		return errors.New("the endpoint needs a client certificate that client-ca.crt of the Secret of spec.endpointSecurity signed: give it with --cert and --key")
	}
	return errors.New("the endpoint does not accept the client certificate of --cert: it is not valid now, or client-ca.crt of the Secret of spec.endpointSecurity did not sign it")
}

// Metrics returns the response of the endpoint.
func Metrics(ctx context.Context, c *cluster.Cluster, t Target, r Request) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("no complete response within %s; --timeout sets another limit", r.Timeout))
	defer cancel()
	if t.TLS && t.CertificateSHA256 == "" {
		return "", fmt.Errorf("the record of pod %s does not say which certificate its endpoint has, so nothing is sent to it; kubectl jmx why -n %s %s", t.Pod, t.Namespace, t.Pod)
	}
	address, log, err := forward(ctx, c, t)
	if err != nil {
		return "", err
	}
	return r.get(ctx, address, t, log)
}

// get requests the metrics at the local address of a port-forward.
func (r Request) get(ctx context.Context, address string, t Target, forwarding fmt.Stringer) (string, error) {
	scheme := "http"
	if t.TLS {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/metrics?"+url.Values{"name[]": r.Names}.Encode(), nil)
	if err != nil {
		return "", err
	}
	if t.TLS && r.Password != "" { // never in clear text, to whoever listens there
		request.SetBasicAuth(r.Username, r.Password)
	}
	request.Header.Set("Accept", "text/plain; version=0.0.4")
	response, err := clientOf(t, r.Credentials).Do(request)
	if err != nil {
		return "", fmt.Errorf("port %d of pod %s does not answer: %w%s", t.Port, t.Pod, orTimeout(ctx, err), forwarding)
	}
	defer response.Body.Close()
	var body strings.Builder
	read, err := io.Copy(&body, io.LimitReader(response.Body, r.MaxBytes+1))
	switch {
	case response.StatusCode == http.StatusUnauthorized && t.TLS:
		return "", r.unauthorized()
	case response.StatusCode == http.StatusForbidden && t.TLS:
		return "", r.forbidden()
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return "", fmt.Errorf("port %d of pod %s answers /metrics with %s, a redirect, which is not followed: an agent sends none, so another process listens there", t.Port, t.Pod, response.Status)
	case response.StatusCode != http.StatusOK:
		first, _, _ := strings.Cut(strings.TrimSpace(body.String()), "\n")
		return "", fmt.Errorf("port %d of pod %s answers /metrics with %s: %.200s", t.Port, t.Pod, response.Status, first)
	case err != nil:
		return "", fmt.Errorf("the response of port %d of pod %s is not complete: %w", t.Port, t.Pod, orTimeout(ctx, err))
	case read > r.MaxBytes:
		return "", fmt.Errorf("the response of port %d of pod %s has more than %d bytes, which is more than an agent responds with", t.Port, t.Pod, r.MaxBytes)
	}
	return body.String(), nil
}

// orTimeout returns why the context ended, if it did; otherwise err.
func orTimeout(ctx context.Context, err error) error {
	return cmp.Or(context.Cause(ctx), err)
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
	// A redirect could lead this machine anywhere, and an agent sends none.
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A secured endpoint is verified as the agent's by its certificate and identity, without
// credentials.
func TestPinned(t *testing.T) {
	const itself, another = "itself", "another"
	secured := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != healthPath {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set(helperapi.IdentityHeader, itself)
	}))
	secured.StartTLS()
	defer secured.Close()
	plain := httptest.NewServer(secured.Config.Handler)
	defer plain.Close()
	sum := sha256.Sum256(secured.Certificate().Raw)
	pin := hex.EncodeToString(sum[:])

	for name, tc := range map[string]struct {
		server                 *httptest.Server
		security, pin, process string
		probe, answers         error  // nil for no error
		says                   string // error of Probe
	}{
		"the certificate is pinned":                                  {secured, "sha", pin, itself, nil, nil, ""},
		"the certificate is another":                                 {secured, "sha", strings.Repeat("0", 64), itself, ErrForeign, ErrForeign, "certificate is not the agent's"},
		"the certificate is pinned, and the identity is another":     {secured, "sha", pin, another, nil, ErrForeign, ""},
		"the certificate is not pinned":                              {secured, "sha", "", itself, nil, nil, ""},
		"the certificate is not pinned, and the identity is another": {secured, "sha", "", another, nil, ErrForeign, ""},
		"the endpoint is plain HTTP, and should use TLS":             {plain, "sha", pin, itself, ErrUnreachable, ErrUnreachable, "cannot be reached"},
		"the endpoint uses TLS, and should be plain HTTP":            {secured, "", "", itself, errNotServing, nil, "HTTP status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			at := netip.MustParseAddrPort(tc.server.Listener.Addr().String())
			process := &v1alpha1.JavaProcess{Port: int32(at.Port()), SecuritySHA256: tc.security, CertificateSHA256: tc.pin, Identity: tc.process}
			process.Endpoint = &v1alpha1.Endpoint{Address: at.Addr().String(), Port: process.Port, TLS: tc.security != ""}
			prober := NewHTTP(effects.Direct)
			if _, err := prober.Answers(t.Context(), process); !errors.Is(err, tc.answers) {
				t.Errorf("Answers: got %v, want %v", err, tc.answers)
			}
			err := prober.Probe(t.Context(), at.Addr().String(), process)
			if (err == nil) != (tc.probe == nil) || !errors.Is(tc.probe, errNotServing) && !errors.Is(err, tc.probe) || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Probe: got %v, want %v", err, tc.probe)
			}
		})
	}
}

// errNotServing stands for a wrong answer.
var errNotServing = errors.New("not serving")

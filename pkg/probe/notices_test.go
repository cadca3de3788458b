package probe

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Notices are taken from the operator's agent only, and only what an agent may say.
func TestNotices(t *testing.T) {
	const identity = "0123456789abcdef"
	skipped := &helperapi.Notices{Skipped: &helperapi.Skipped{Count: 1, Domain: "a", Reason: "InvalidValue"}}
	for name, tc := range map[string]struct {
		status   int
		identity string
		notices  []string
		want     *helperapi.Notices
	}{
		"something is skipped":            {200, identity, []string{"skipped=1&skipped.reason=InvalidValue&skipped.domain=a"}, skipped},
		"nothing is skipped":              {200, identity, []string{""}, &helperapi.Notices{}},
		"an older agent":                  {200, identity, nil, nil},
		"a mesh":                          {200, "", []string{"skipped=1"}, nil},
		"an answer that fails":            {503, identity, []string{"skipped=1"}, nil},
		"two answers":                     {200, identity, []string{"skipped=1", "skipped=2"}, nil},
		"not encoded":                     {200, identity, []string{"skipped=%zz"}, nil},
		"longer than an agent's":          {200, identity, []string{"skipped=1&x=" + strings.Repeat("x", 5000)}, nil},
		"a foreign process":               {200, "fedcba9876543210", []string{"skipped=1"}, nil},
		"larger than headers may be":      {200, identity, []string{strings.Repeat("x", 100<<10)}, nil},
		"escapes of a terminal in a name": {200, identity, []string{"skipped=1&skipped.domain=%1B%5B31ma%0Ab"}, &helperapi.Notices{Skipped: &helperapi.Skipped{Count: 1, Domain: " [31ma b"}}},
	} {
		t.Run(name, func(t *testing.T) { answersWith(t, tc.status, tc.identity, tc.notices, identity, tc.want) })
	}
	t.Run("the stock exporter", func(t *testing.T) { answersWith(t, 200, "", []string{"skipped=1"}, "", nil) })
}

// answersWith checks the notices of an endpoint that answers with a status and headers, for
// a process of a recorded identity.
func answersWith(t *testing.T, status int, identity string, notices []string, recorded string, want *helperapi.Notices) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if identity != "" {
			w.Header().Set(helperapi.IdentityHeader, identity)
		}
		for _, value := range notices {
			w.Header().Add(helperapi.NoticesHeader, value)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	process := &v1alpha1.JavaProcess{Identity: recorded, Endpoint: &v1alpha1.Endpoint{Address: at.Addr().String(), Port: int32(at.Port())}}
	got, _ := NewHTTP(effects.Direct).Answers(t.Context(), process)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package endpoint

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// from requests the metrics of a server, without a port-forward.
func from(t *testing.T, server *httptest.Server, r Request) (string, error) {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Pod: "app-0", Port: int32(port)}
	if server.TLS != nil {
		sum := sha256.Sum256(server.Certificate().Raw)
		target.TLS, target.CertificateSHA256 = true, hex.EncodeToString(sum[:])
	}
	return r.get(t.Context(), address.Host, target, &forwardLog{})
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// A process in a container cannot make this machine send requests elsewhere.
func TestRedirectIsNotFollowed(t *testing.T) {
	requested := false
	internal := serve(t, func(http.ResponseWriter, *http.Request) { requested = true })
	hostile := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, internal.URL, http.StatusFound) })
	_, err := from(t, hostile, Request{MaxBytes: 1})
	if requested {
		t.Error("the redirect is followed")
	}
	if err == nil || !strings.Contains(err.Error(), "302 Found") || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("got error %v, want one that says that the redirect is not followed", err)
	}
}

// What a process in a container responds with does not fill this machine's memory.
func TestResponseIsLimited(t *testing.T) {
	large := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("a", 11)) })
	if got, err := from(t, large, Request{MaxBytes: 11}); len(got) != 11 || err != nil {
		t.Errorf("11 bytes of at most 11: got %q, %v", got, err)
	}
	if _, err := from(t, large, Request{MaxBytes: 10}); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("11 bytes of at most 10: got error %v", err)
	}
}

// Credentials that are missing and those that are wrong have different remedies.
func TestCredentialsAreRefused(t *testing.T) {
	for _, test := range []struct {
		status int
		given  Credentials
		want   string
	}{
		{http.StatusUnauthorized, Credentials{}, "needs a password"},
		{http.StatusUnauthorized, Credentials{Username: "prometheus", Password: "wrong"}, `does not accept the password of --password-file for user "prometheus"`},
		{http.StatusForbidden, Credentials{}, "needs a client certificate"},
		{http.StatusForbidden, Credentials{Certificate: &tls.Certificate{}}, "does not accept the client certificate of --cert"},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) }))
		t.Cleanup(server.Close)
		if _, err := from(t, server, Request{Credentials: test.given, MaxBytes: 1}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d: got error %v, want one with %q", test.status, err, test.want)
		}
	}
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := from(t, plain, Request{MaxBytes: 1}); err == nil || !strings.Contains(err.Error(), "answers /metrics with 401") {
		t.Errorf("401 without TLS: got error %v", err)
	}
}

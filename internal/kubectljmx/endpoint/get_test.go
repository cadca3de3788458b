package endpoint

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

)

// from requests the metrics of a server, without a port-forward.
func from(t *testing.T, server *httptest.Server, credentials Credentials) (string, error) {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	return get(t.Context(), address.Host, Target{Pod: "app-0", Port: int32(port)}, credentials, &complaints{}, nil)
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
	_, err := from(t, hostile, Credentials{})
	if requested {
		t.Error("the redirect is followed")
	}
	if err == nil || !strings.Contains(err.Error(), "302 Found") || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("got error %v, want one that says that the redirect is not followed", err)
	}
}

package endpoint

import (
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
	return r.get(t.Context(), address.Host, Target{Pod: "app-0", Port: int32(port)}, &complaints{})
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

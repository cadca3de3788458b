//go:build linux

package attach

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestProbe(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.Handle("/moved", http.RedirectHandler("/metrics", http.StatusFound))
	mux.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(mux)
	defer server.Close()
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	for _, test := range []struct {
		endpoint *Endpoint
		reason   Reason
	}{
		{&Endpoint{port, "/metrics"}, ""},
		{&Endpoint{port, "/error"}, ReasonEndpointNotServing},
		{&Endpoint{port, "/moved"}, ReasonEndpointNotServing},
		{&Endpoint{port, "/cut"}, ReasonEndpointNotServing},
		{&Endpoint{jvmtest.FreePort(t), "/metrics"}, ReasonEndpointNotServing},
		{&Endpoint{port, "/metrics HTTP/1.1\r\nX: y"}, ReasonBadRequest},
		{&Endpoint{port, "metrics"}, ReasonBadRequest},
		{&Endpoint{0, "/metrics"}, ReasonBadRequest},
		{nil, ReasonBadRequest},
	} {
		report := do(t, VerbProbe, Request{Probe: test.endpoint})
		got := Reason("")
		if report.Error != nil {
			got = report.Error.Reason
		}
		if got != test.reason {
			t.Errorf("%+v: %v, want %q", test.endpoint, report.Error, test.reason)
		}
	}
}

// A pod may have IPv6 only.
func TestProbeIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Fatalf("the loopback interface has no ::1: %v", err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(l) }() // ends with Close
	defer server.Close()
	report := do(t, VerbProbe, Request{Probe: &Endpoint{int32(l.Addr().(*net.TCPAddr).Port), "/"}})
	wantReason(t, report, ReasonEndpointNotServing)
	const want = "404"
	if report.Error == nil || !strings.Contains(report.Error.Message, want) {
		t.Errorf("got %v, want an answer of %s", report.Error, want)
	}
}

// Who accepts and says nothing, or something else than HTTP, holds nobody up.
func TestProbeSilent(t *testing.T) {
	l, port := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // when the test ends
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	report := Helper{}.Do(ctx, VerbProbe, Request{Probe: &Endpoint{port, "/metrics"}}, nil)
	wantReason(t, report, ReasonEndpointNotServing)
}

func TestStatusCode(t *testing.T) {
	for line, want := range map[string]int{
		"HTTP/1.1 200 OK\r\n": 200, "HTTP/1.0 404\r\n": 404, "HTTP/1.1  503 x": 503, "SSH-2.0-x": 0, "": 0, "HTTP/1.1 x": 0, "ICY 200 OK": 0,
	} {
		code, ok := statusCode(line)
		if !ok {
			code = 0
		}
		if code != want {
			t.Errorf("%q: got %d", line, code)
		}
	}
}

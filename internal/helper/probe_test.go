//go:build linux

package helper

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
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
		endpoint *helperapi.Endpoint
		reason   helperapi.Reason
	}{
		{&helperapi.Endpoint{Port: port, Path: "/metrics"}, ""},
		{&helperapi.Endpoint{Port: port, Path: "/error"}, helperapi.ReasonEndpointNotServing},
		{&helperapi.Endpoint{Port: port, Path: "/moved"}, helperapi.ReasonEndpointNotServing},
		{&helperapi.Endpoint{Port: port, Path: "/cut"}, helperapi.ReasonEndpointNotServing},
		{&helperapi.Endpoint{Port: jvmtest.FreePort(t), Path: "/metrics"}, helperapi.ReasonEndpointNotServing},
		{&helperapi.Endpoint{Port: port, Path: "/metrics HTTP/1.1\r\nX: y"}, helperapi.ReasonBadRequest},
		{&helperapi.Endpoint{Port: port, Path: "metrics"}, helperapi.ReasonBadRequest},
		{&helperapi.Endpoint{Port: 0, Path: "/metrics"}, helperapi.ReasonBadRequest},
		{nil, helperapi.ReasonBadRequest},
	} {
		report := do(t, helperapi.VerbProbe, helperapi.Request{Probe: test.endpoint})
		got := helperapi.Reason("")
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
	go func() { _ = server.Serve(l) }() // returns at Close
	defer server.Close()
	report := do(t, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: int32(l.Addr().(*net.TCPAddr).Port), Path: "/"}})
	wantReason(t, report, helperapi.ReasonEndpointNotServing)
	const want = "404"
	if report.Error == nil || !strings.Contains(report.Error.Message, want) {
		t.Errorf("got %v, want an answer of %s", report.Error, want)
	}
}

// A server that accepts and sends nothing, or does not speak HTTP, does not block the
// probe.
func TestProbeSilent(t *testing.T) {
	l, port := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // at the end of the test
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	report := Helper{}.Do(ctx, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: port, Path: "/metrics"}}, nil)
	wantReason(t, report, helperapi.ReasonEndpointNotServing)
}

// Only a limited part of an endless page is read: the server may be the application, or
// any other process on that port.
func TestProbeIsBounded(t *testing.T) {
	written := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk, n := make([]byte, 64<<10), 0
		for n < 4*maxPage {
			m, err := w.Write(chunk)
			n += m
			if err != nil {
				break
			}
		}
		written <- n
	}))
	defer server.Close()
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	wantReason(t, do(t, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: port, Path: "/metrics"}}), "")
	if n := <-written; n > 2*maxPage { // includes the kernel's buffers
		t.Errorf("%d bytes were read of a page that has no end", n)
	}
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

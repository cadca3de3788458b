package faults

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// proxy is the way of an operator to the API server. It counts what passes from outside of
// the operator, and injects faults.
type proxy struct {
	server *httptest.Server
	links  *listener
	meter  *meter
	// serves reports whether a pod serves a port.
	serves func(address string, port int32) bool

	mu sync.Mutex
	// writes are those that the API server has got, in order, and execs counts the execs.
	writes []string
	execs  int
	last   time.Time
	// into counts the execs by pod.
	into map[string]int
	// refusal is a fault of the API server at one write; nil for none.
	refusal *refusal
	seen    map[string]int
	// outage is a fault of the API server at all requests, relisted are the paths whose
	// watches have expired in it, and watches is where their events wait.
	outage   outage
	relisted map[string]bool
	watches  gate
	// created are the resources of which objects were created, in order, and exceeded is called
	// when a quota first allows no more.
	created  []string
	exceeded func()
	// withoutWebSocket makes the proxy one that knows no WebSocket.
	withoutWebSocket bool
}

// refusal is an answer of the API server to the nth write under its name.
type refusal struct {
	write  string
	nth    int
	status int
	// after means that the write is performed, and its answer is lost.
	after bool
	met   bool
}

// String returns a name for a subtest.
func (r refusal) String() string {
	if r.after {
		return fmt.Sprintf("%d after %s, %d", r.status, r.write, r.nth)
	}
	return fmt.Sprintf("%d to %s, %d", r.status, r.write, r.nth)
}

type linkKey struct{}

// newProxy starts a proxy.
func newProxy(serves func(string, int32) bool) (*proxy, error) {
	up, err := toAPIServer()
	if err != nil {
		return nil, err
	}
	p := &proxy{serves: serves, seen: map[string]int{}, into: map[string]int{}, meter: &meter{}}
	reverse := &httputil.ReverseProxy{
		ModifyResponse: p.answered,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(up.url) },
		Transport:      up.transport,
		FlushInterval:  -1, // watches
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, reverse) }))
	p.links = &listener{Listener: p.server.Listener, open: map[*link]bool{}}
	p.server.Listener = p.links
	p.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of connections that are cut
	p.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, linkKey{}, c) }
	p.server.Start()
	return p, nil
}

// upstream is the API server behind the proxies.
type upstream struct {
	url       *url.URL
	transport http.RoundTripper
}

// toAPIServer is shared by all proxies.
var toAPIServer = sync.OnceValues(func() (up upstream, err error) {
	if up.url, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return up, err
	}
	certificates, err := rest.TLSConfigFor(config)
	if err != nil {
		return up, err
	}
	certificates.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrade
	up.transport = &http.Transport{TLSClientConfig: certificates, MaxIdleConnsPerHost: 100}
	return up, nil
})

func (p *proxy) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch {
	case r.URL.Path == probePath:
		port, err := strconv.ParseInt(r.URL.Query().Get("port"), 10, 32)
		if err != nil || !p.serves(r.URL.Query().Get("address"), int32(port)) {
			http.Error(w, "nothing listens", http.StatusBadGateway)
		}
		return
	case p.fails(w, r):
		return
	case strings.HasSuffix(r.URL.Path, "/exec"):
		spdy := !strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
		if !spdy && p.withoutWebSocket {
			http.Error(w, "an upgrade that this proxy does not know", http.StatusBadRequest)
			return
		}
		p.note(func() { p.execs++; p.into[path.Base(path.Dir(r.URL.Path))]++ })
		r.Context().Value(linkKey{}).(*link).measure(p.meter, spdy)
	case isWrite(r):
		status, after := p.write(nameOf(r))
		if after {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		if status != 0 {
			refuse(w, status)
			return
		}
	}
	next.ServeHTTP(w, r)
}

// note notes activity of the operator.
func (p *proxy) note(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	what()
}

// write notes a write, and returns the status that refuses it; 0 if nothing does. after
// reports whether the write is performed nevertheless.
func (p *proxy) write(name string) (status int, after bool) {
	p.note(func() {
		p.seen[name]++
		if r := p.refusal; r != nil && !r.met && r.write == name && r.nth == p.seen[name] {
			r.met, status, after = true, r.status, r.after
			return
		}
		p.writes = append(p.writes, name)
	})
	return status, after
}

// isWrite reports whether a request changes something that the operator is responsible for:
// reviews change nothing, and Events and Leases are not counted.
func isWrite(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	for _, other := range []string{"/events", "/leases", "reviews"} {
		if strings.Contains(r.URL.Path, other) {
			return false
		}
	}
	return true
}

// nameOf is the name of a write, which is the same in each run.
func nameOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts {
		if part == "namespaces" && len(parts) > i+2 {
			parts = parts[i+2:]
			break
		}
	}
	name := r.Method + " " + parts[0]
	if len(parts) > 2 {
		name += "/" + strings.Join(parts[2:], "/")
	}
	if owner := r.URL.Query().Get("fieldManager"); owner != "" {
		name += " by " + path.Base(owner)
	}
	return name
}

// refuse answers as an API server does that is asked too much, is out of order, or has
// another version of the object.
func refuse(w http.ResponseWriter, status int) {
	reason := map[int]metav1.StatusReason{
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusGone: metav1.StatusReasonExpired,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
	}[status]
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault of the test","reason":%q,"code":%d}`, reason, status)
}

// refused reports whether the write that is to be refused was.
func (p *proxy) refused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refusal.met
}

// counts returns the writes and the number of execs so far, and when the last one was.
func (p *proxy) counts() (writes []string, execs int, last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.writes), p.execs, p.last
}

// execsInto returns the number of execs into a pod so far.
func (p *proxy) execsInto(pod string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.into[pod]
}

package integration

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// proxy is a proxy to the API server, which counts lists and can fail.
type proxy struct {
	*httptest.Server
	lists atomic.Int32
	down  atomic.Bool
}

func aProxy(t *testing.T) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/jmxattachments") && r.URL.Query().Get("watch") == "" {
			p.lists.Add(1)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	t.Cleanup(p.CloseClientConnections)
	return p
}

// watching is a running kubectl jmx status --watch.
type watching struct {
	*shop
	k           *kubectl
	out, errOut shown
	interrupt   func()
	ended       chan error
}

func (s *shop) watch(k *kubectl, flags ...string) *watching {
	ctx, interrupt := context.WithCancel(s.t.Context())
	w := &watching{shop: s, k: k, interrupt: interrupt, ended: make(chan error, 1)}
	go func() {
		w.ended <- k.stream(ctx, &w.out, &w.errOut, append([]string{"status", "-n", s.namespace, "ledger", "--watch"}, flags...)...)
	}()
	eventually(s.t, w.out.has("exporter "+s.namespace+"/ledger  Pending"))
	return w
}

// shows changes the exporter, and waits until it is shown.
func (w *watching) shows(phase v1alpha1.Phase) {
	w.t.Helper()
	w.status(w.ledger, v1alpha1.PrometheusJmxExporterStatus{Phase: phase})
	// The clock of kubectl jmx stands still while it gathers changes, until it is moved.
	eventually(w.t, w.k.clock.HasWaiters)
	if w.out.has("ledger  " + string(phase))() {
		w.t.Errorf("phase %s is shown before changes are gathered", phase)
	}
	w.k.clock.Step(time.Second)
	eventually(w.t, w.out.has("ledger  "+string(phase)))
}

func (w *watching) end() {
	w.t.Helper()
	w.interrupt()
	if err := <-w.ended; err != nil {
		w.t.Errorf("an interrupted watch: %v", err)
	}
}

// A watch shows the exporters again when something changes, without listing them again.
func TestKubectlWatches(t *testing.T) {
	t.Parallel()
	s, p := aShop(t, "watched"), aProxy(t)
	w := s.watch(aKubectl(t, "watcher", s.namespace), "--server", p.URL)
	before := p.lists.Load()
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseStaged, v1alpha1.PhaseExposed, v1alpha1.PhaseAnnotated} {
		w.shows(phase)
	}
	s.status(s.payroll, v1alpha1.PrometheusJmxExporterStatus{Phase: v1alpha1.PhaseExposed})
	eventually(t, w.k.clock.HasWaiters)
	w.end()
	if after := p.lists.Load(); after != before {
		t.Errorf("%d changes: got %d lists, want none", 4, after-before)
	}
	if strings.Contains(w.out.String(), "payroll") {
		t.Errorf("another exporter is shown:\n%s", w.out.String())
	}
}

// A watch reconnects, and says meanwhile that it is not connected.
func TestKubectlWatchReconnects(t *testing.T) {
	t.Parallel()
	s, p := aShop(t, "reconnected"), aProxy(t)
	w := s.watch(aKubectl(t, "reconnecting", s.namespace), "--server", p.URL)
	p.down.Store(true)
	p.CloseClientConnections()
	eventually(t, w.errOut.has("note: cannot watch, retrying: "))
	p.down.Store(false)
	w.shows(v1alpha1.PhaseAnnotated)
	w.end()
}

// A watch of a user who may only list ends with the right that is missing.
func TestKubectlWatchIsForbidden(t *testing.T) {
	t.Parallel()
	s := aShop(t, "unwatched")
	k := aKubectl(t, "lister", s.namespace, allow("banzaicloud.com", kinds, "get", "list"))
	k.fails([]string{"status", "-n", s.namespace, "--watch"}, `User "lister" cannot watch resource`, "no rights but yours")
}

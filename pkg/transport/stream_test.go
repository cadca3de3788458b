package transport

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
)

// An upgrade that is never answered ends with its context, and its connection is closed:
// nothing is left of an exec that was given up. The API server is a fake that stays silent.
func TestUnansweredUpgrade(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]string{"over WebSocket": "websocket", "over SPDY": "SPDY/3.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, closed := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Upgrade") != silent {
					http.Error(w, "a proxy that does not know this", http.StatusBadGateway)
					return
				}
				connection, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				close(asked)
				_, _ = io.Copy(io.Discard, connection) // until the client closes it
				close(closed)
			}))
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			clientset, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // it has been asked by then
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				ended <- NewStreams(config, clientset.CoreV1().RESTClient()).Stream(ctx, app, []string{"true"}, strings.NewReader(""), io.Discard, io.Discard)
			}()
			await := func(what string, c <-chan struct{}) {
				t.Helper()
				select {
				case <-c:
				case <-time.After(time.Minute):
					t.Fatalf("%s: not within a minute", what)
				}
			}
			await("the upgrade", asked)
			select {
			case err := <-ended:
				if err == nil || httpstream.IsUpgradeFailure(err) {
					t.Errorf("the exec ended with %v, want the end of its context", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the exec goes on after the end of its context")
			}
			await("the end of the connection", closed)
		})
	}
}

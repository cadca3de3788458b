package manager

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// hanging is an API server whose answers about a namespace never come.
type hanging struct{ held atomic.Int32 }

// RoundTrip implements http.RoundTripper.
func (h *hanging) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.Contains(request.URL.Path, "/slow/") {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}
	h.held.Add(1)
	defer h.held.Add(-1)
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// body is the body of a request.
type body struct {
	io.Reader
	closed *atomic.Int32
}

// Close implements io.Closer.
func (b body) Close() error {
	b.closed.Add(1)
	return nil
}

// Writes that hang for a namespace are limited, and delay neither writes of other namespaces
// nor reads.
func TestWritesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &hanging{}
		client := &limitedWrites{api, enqueue.NewSlots(maxWrites)}
		var ended, closed atomic.Int32
		do := func(ctx context.Context, method, path string) {
			request := httptest.NewRequest(method, path, body{strings.NewReader("{}"), &closed}).WithContext(ctx)
			response, err := client.RoundTrip(request)
			if err == nil {
				response.Body.Close()
			}
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("%s %s: got %v", method, path, err)
			}
			ended.Add(1)
		}
		const writes, records = 300, "/apis/monitoring.banzaicloud.io/v1alpha1/namespaces/slow/jmxattachments/"
		ctx, cancel := context.WithCancel(t.Context())
		for range writes {
			go do(ctx, http.MethodPatch, records+"app-0")
		}
		synctest.Wait()
		if got := api.held.Load(); got != maxWrites/2 {
			t.Errorf("writes held by the webhook: got %d, want %d", got, maxWrites/2)
		}
		for range 3 { // each gives its slot back
			do(t.Context(), http.MethodPatch, "/api/v1/namespaces/shop/pods/app-0")
			do(t.Context(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
		}
		go do(ctx, http.MethodGet, records)
		synctest.Wait()
		if got := api.held.Load(); got != maxWrites/2+1 {
			t.Errorf("requests held while it is read: got %d, want %d", got, maxWrites/2+1)
		}
		ended.Store(0)
		closed.Store(0)
		cancel()
		synctest.Wait()
		if got := ended.Load(); got != writes+1 {
			t.Errorf("requests that ended with their contexts: got %d, want %d", got, writes+1)
		}
		if got := closed.Load(); got != writes-maxWrites/2 {
			t.Errorf("bodies of requests that were never sent: %d are closed, want %d", got, writes-maxWrites/2)
		}
	})
}

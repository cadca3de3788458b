package manager

import (
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// maxWrites limits the writes that the API server handles at once for the operator, half of
// them for a namespace. With all workers, a webhook that hangs for a namespace would hold some
// hundred, which is most of what API Priority and Fairness gives to all controllers together.
const maxWrites = 64

// limitWrites returns a configuration with that limit. It limits requests after the client's
// rate limiter, where most of them wait: they hold nothing there.
func limitWrites(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	slots := enqueue.NewSlots(maxWrites)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &limitedWrites{next, slots} })
	return config
}

type limitedWrites struct {
	next  http.RoundTripper
	slots *enqueue.Slots
}

var _ utilnet.RoundTripperWrapper = &limitedWrites{} // otherwise, client-go warns whenever it cancels a request

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (l *limitedWrites) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip implements http.RoundTripper.
func (l *limitedWrites) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return l.next.RoundTrip(request)
	}
	free, err := l.slots.Take(request.Context(), namespaceOf(request.URL.Path))
	if err != nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, err
	}
	defer free()
	return l.next.RoundTrip(request)
}

// namespaceOf returns the namespace of an object; empty if it has none.
func namespaceOf(path string) string {
	_, path, _ = strings.Cut(path, "/namespaces/")
	namespace, _, _ := strings.Cut(path, "/")
	return namespace
}

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// A write that is not answered, as with a webhook that is slow for one namespace, delays
// nothing in other namespaces, also with more pods than the operator has workers: few of them
// are held at once. The API server is real; the unanswered request is the client's, which holds
// it.
func TestHeldWrites(t *testing.T) {
	t.Parallel()
	const most = 32
	for _, resource := range []string{"pods", "jmxattachments", "jmxattachments/status", "prometheusjmxexporters/status", "services", "endpointslices", "controllerrevisions", "events"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			slow := &story{cluster: newCluster(t)}
			other := &story{cluster: newCluster(t)}
			held := &holding{namespace: slow.namespace, resource: resource, end: t.Context().Done()}
			as := rest.CopyConfig(config)
			as.Wrap(func(next http.RoundTripper) http.RoundTripper { held.next = next; return held })
			both := fakenode.New(t)
			slow.containers, other.containers = both, both
			slow.startManagerIn(as, both.Prober(effects.Direct), slow.namespace, other.namespace)
			pods, system := 1, corev1.Linux
			if resource == "jmxattachments/status" { // which each worker writes, if it needs no exec
				pods, system = 120, corev1.Windows
			}
			for i := range pods {
				p := aPod(fmt.Sprintf("app-%d", i))
				p.pod.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: string(system)}
				slow.run(p)
			}
			slow.exportOpen()
			eventually(t, func() bool { return held.writes.Load() >= min(int64(pods), most) })
			other.pod = other.run(aPod("app-0"))
			other.exporter = other.export("exporter")
			eventually(t, func() bool {
				a := other.attachment(other.pod)
				get(t, other.exporter)
				return a != nil && phaseOf(a) == isAnnotated && other.exporter.Status.Pods == "1/1"
			})
			if got := held.writes.Load(); got > most {
				t.Errorf("writes held at once: got %d, want at most %d", got, most)
			}
		})
	}
}

// holding holds the writes to a resource of a namespace until the end of the test.
type holding struct {
	next                http.RoundTripper
	namespace, resource string
	writes              atomic.Int64
	end                 <-chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (h *holding) RoundTrip(request *http.Request) (*http.Response, error) {
	_, path, ours := strings.Cut(request.URL.Path, "/namespaces/"+h.namespace+"/")
	resource, rest, _ := strings.Cut(path, "/")
	if _, sub, found := strings.Cut(rest, "/"); found {
		resource += "/" + sub
	}
	if ours && request.Method != http.MethodGet && resource == h.resource {
		h.writes.Add(1)
		select {
		case <-h.end:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	return h.next.RoundTrip(request)
}

package integration

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/manager"
)

// The liveness probe of the operator covers the controllers that attach, and no others.
func TestLiveness(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	// The manager does not report its port. A port that is unused at this address stays so, since
	// nothing else on this machine listens there.
	listener, err := net.Listen("tcp", "127.0.0.81:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c.startManagerAs(config, func(o *manager.Options) { o.HealthAddress = address }, c.namespace)
	var body string
	eventually(t, func() bool {
		response, err := http.Get("http://" + address + "/healthz?verbose")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		all, err := io.ReadAll(response.Body)
		body = string(all)
		return err == nil && response.StatusCode == http.StatusOK
	})
	for check, want := range map[string]bool{"jmxattachment": true, "prometheusjmxexporter": true, "orphan": false, "podlog": false} {
		if strings.Contains(body, "[+]"+check+" ok") != want {
			t.Errorf("/healthz?verbose has %s: want %t:\n%s", check, want, body)
		}
	}
}

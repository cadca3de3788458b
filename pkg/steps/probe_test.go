package steps

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// What an endpoint does, what its probe says of it, and whether it counts as
// silent, so that the JVM behind it is looked at.
func TestHTTPProber(t *testing.T) {
	answers := func(status int) func(*testing.T) string {
		return func(t *testing.T) string {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			t.Cleanup(server.Close)
			return server.Listener.Addr().String()
		}
	}
	accepts := func(then func(net.Conn)) func(*testing.T) string {
		return func(t *testing.T) string {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { listener.Close() })
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					then(conn)
				}
			}()
			return listener.Addr().String()
		}
	}
	process := &v1alpha1.JavaProcess{ContainerID: "containerd://1", PID: 7, StartTime: 42}
	identifies := func(p v1alpha1.JavaProcess) func(*testing.T) string {
		return func(t *testing.T) string {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(attach.IdentityHeader, fingerprint(&p))
			}))
			t.Cleanup(server.Close)
			return server.Listener.Addr().String()
		}
	}
	cases := map[string]struct {
		reason string
		listen func(*testing.T) string
		// probe is in the error of Probe; empty for none, and not asked for "-".
		probe  string
		silent bool
	}{
		"Serves":     {"the plain case", answers(http.StatusOK), "", false},
		"Itself":     {"its own JVM says so", identifies(*process), "", false},
		"Stranger":   {"another JVM's agent has the port", identifies(v1alpha1.JavaProcess{ContainerID: "containerd://2", PID: 7, StartTime: 42}), "", true},
		"NoSuchPage": {"an old stock exporter has no health page, but is there", answers(http.StatusNotFound), "HTTP status 404", false},
		"Redirects":  {"nobody is followed", answers(http.StatusFound), "HTTP status 302", false},
		"Slow":       {"a JVM that collects garbage is the same JVM", accepts(func(net.Conn) {}), "-", false},
		"HangsUp":    {"somebody else has the port", accepts(func(c net.Conn) { c.Close() }), "not in HTTP", true},
		"Babbles": {"it does not speak HTTP", accepts(func(c net.Conn) {
			_, _ = c.Write([]byte("220 mail\r\n"))
			c.Close()
		}), "not in HTTP", true},
		"Closed": {"nobody is there", func(t *testing.T) string {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			return listener.Addr().String()
		}, "cannot be reached", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			host, port, err := net.SplitHostPort(tc.listen(t))
			if err != nil {
				t.Fatal(err)
			}
			number, err := strconv.Atoi(port)
			if err != nil {
				t.Fatal(err)
			}
			p := NewHTTPProber(effects.Direct)
			p.patience = 100 * time.Millisecond
			process := process.DeepCopy()
			process.Endpoint = &v1alpha1.Endpoint{Address: host, Port: int32(number)}
			if err := p.Answers(t.Context(), process); (err != nil) != tc.silent || errors.Is(err, ErrUnreachable) != (name == "Closed") || errors.Is(err, ErrStranger) != (name == "Stranger") {
				t.Errorf("%s: Answers says %v", tc.reason, err)
			}
			if tc.probe == "-" {
				return
			}
			err = p.Probe(t.Context(), host, int32(number))
			if (err == nil) != (tc.probe == "") || err != nil && !strings.Contains(err.Error(), tc.probe) {
				t.Errorf("%s: Probe says %v, want %q", tc.reason, err, tc.probe)
			}
			if errors.Is(err, ErrUnreachable) != (name == "Closed") {
				t.Errorf("%s: Probe says %v, which is unreachable or not", tc.reason, err)
			}
		})
	}
}

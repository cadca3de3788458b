package probe

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// The behavior of an endpoint, the error of its probe, and whether it counts as silent, so
// that its JVM is examined.
func TestHTTP(t *testing.T) {
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
	const unreachable = "cannot be reached"
	process := &v1alpha1.JavaProcess{ContainerID: "containerd://1", PID: 7, StartTime: 42}
	told := process.DeepCopy()
	told.Identity = record.Fingerprint(process)
	other := v1alpha1.JavaProcess{ContainerID: "containerd://2", PID: 7, StartTime: 42}
	identifies := func(p v1alpha1.JavaProcess) func(*testing.T) string {
		return func(t *testing.T) string {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(helperapi.IdentityHeader, record.Fingerprint(&p))
			}))
			t.Cleanup(server.Close)
			return server.Listener.Addr().String()
		}
	}
	cases := map[string]struct {
		reason  string
		process *v1alpha1.JavaProcess
		listen  func(*testing.T) string
		// probe is contained in the error of Probe; empty for no error, "-" for no probe.
		probe           string
		silent, foreign bool
	}{
		"the agent has no identity":                           {"an agent without an identity shows none", process, answers(http.StatusOK), "", false, false},
		"the process answers":                                 {"the headers identify the process", process, identifies(*process), "", false, false},
		"the process answers with its identity":               {"the headers have the agent's identity", told, identifies(*process), "", false, false},
		"a foreign process answers":                           {"the agent of another JVM has the port", process, identifies(other), "", true, true},
		"a foreign process answers an agent with an identity": {"the agent of another JVM has the port", told, identifies(other), "", true, true},
		"the answer lacks the identity":                       {"the agent would show its identity", told, answers(http.StatusOK), "", true, true},
		"the agent's health page is missing":                  {"the agent has this page", told, answers(http.StatusNotFound), "HTTP status 404", true, true},
		"a proxy refuses access":                              {"a proxy in front of the agent may refuse", told, answers(http.StatusForbidden), "HTTP status 403", false, false},
		"a proxy redirects":                                   {"a proxy in front of the agent may require a login", told, answers(http.StatusFound), "HTTP status 302", false, false},
		"a proxy fails":                                       {"a proxy in front of the agent may fail", told, answers(http.StatusServiceUnavailable), "HTTP status 503", false, false},
		"the stock exporter's health page is missing":         {"an old stock exporter has no health page, but serves", process, answers(http.StatusNotFound), "HTTP status 404", false, false},
		"the endpoint redirects":                              {"redirects are not followed", process, answers(http.StatusFound), "HTTP status 302", false, false},
		"the endpoint is slow":                                {"a JVM that collects garbage is the same JVM", told, accepts(func(net.Conn) {}), "-", false, false},
		"the connection is closed":                            {"a mesh that requires mutual TLS closes connections", process, accepts(func(c net.Conn) { c.Close() }), unreachable, true, false},
		"the connection is reset": {"another mesh resets connections", process, accepts(func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}), unreachable, true, false},
		"the answer is not HTTP": {"the listener does not speak HTTP", process, accepts(func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write([]byte("220 mail\r\n"))
			c.Close()
		}), "does not speak HTTP", true, false},
		"the port is closed": {"nothing listens", told, func(t *testing.T) string {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			return listener.Addr().String()
		}, unreachable, true, false},
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
			p := NewHTTP(effects.Direct)
			p.patience = 100 * time.Millisecond
			process := tc.process.DeepCopy()
			process.Port, process.Endpoint = int32(number), &v1alpha1.Endpoint{Address: host, Port: int32(number)}
			_, err = p.Answers(t.Context(), process)
			if (err != nil) != tc.silent || errors.Is(err, ErrForeign) != tc.foreign || errors.Is(err, ErrUnreachable) != (tc.probe == unreachable) {
				t.Errorf("%s: Answers: got %v", tc.reason, err)
			}
			if tc.probe == "-" {
				return
			}
			err = p.Probe(t.Context(), host, process)
			if (err == nil) != (tc.probe == "") || err != nil && !strings.Contains(err.Error(), tc.probe) {
				t.Errorf("%s: Probe: got %v, want %q", tc.reason, err, tc.probe)
			}
			if errors.Is(err, ErrUnreachable) != (tc.probe == unreachable) {
				t.Errorf("%s: Probe: got %v, want ErrUnreachable only for an unreachable endpoint", tc.reason, err)
			}
		})
	}
}

// A collection of the stock exporter is never begun by the operator: it prints a stack trace
// on the application's output if the client gives up.
func TestStockExporterIsNotScraped(t *testing.T) {
	var requested []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requested = append(requested, r.URL.Path) }))
	defer server.Close()
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	stock := &v1alpha1.JavaProcess{Adopted: true, Port: int32(port), Endpoint: &v1alpha1.Endpoint{Address: host, Port: int32(port)}}
	prober := NewHTTP(effects.Direct)
	_, err = prober.Answers(t.Context(), stock)
	if err := errors.Join(prober.Probe(t.Context(), host, stock), err); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{healthPath, healthPath}, requested); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

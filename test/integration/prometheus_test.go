package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// prometheusServer is a real Prometheus.
type prometheusServer struct {
	t       *testing.T
	address string
}

// tools returns the paths of binaries that hack/binaries builds.
func tools(t *testing.T, names ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../hack/binaries", names...).Output()
	if err != nil {
		t.Fatalf("hack/binaries: %v", err)
	}
	return strings.Fields(string(out))
}

// startPrometheus checks a configuration with promtool and runs a Prometheus with it, and
// with these arguments.
func startPrometheus(t *testing.T, configuration any, arguments ...string) prometheusServer {
	t.Helper()
	found, dir := tools(t, "prometheus", "promtool"), t.TempDir()
	file := write(t, dir, "prometheus.yaml", configuration)
	if out, err := exec.CommandContext(t.Context(), found[1], "check", "config", file).CombinedOutput(); err != nil {
		t.Fatalf("promtool check config: %v\n%s", err, out)
	}
	p := prometheusServer{t, address(t)}
	start(t, found[0], append(arguments, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+p.address)...)
	eventually(t, func() bool { return p.get("/api/v1/query?query=1", nil) })
	return p
}

// get decodes the data of an answer of Prometheus' API; false if there is none yet.
func (p prometheusServer) get(path string, data any) bool {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.address+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	answer := struct{ Data any }{data}
	return json.NewDecoder(response.Body).Decode(&answer) == nil && response.StatusCode == http.StatusOK
}

// targets returns the targets whose namespace label is one of these, as
// "job exporter URL", with the error of the last scrape of those that are not up.
func (p prometheusServer) targets(namespaces ...string) (targets []string) {
	p.t.Helper()
	var answer struct {
		ActiveTargets []struct {
			Labels            map[string]string
			Health, LastError string
			ScrapeURL         string
		}
	}
	p.get("/api/v1/targets?state=active", &answer)
	for _, target := range answer.ActiveTargets {
		for _, namespace := range namespaces {
			if target.Labels["namespace"] != namespace {
				continue
			}
			text := fmt.Sprintf("%s %s %s", target.Labels["job"], target.Labels["exporter"], target.ScrapeURL)
			if target.Health != "up" {
				text += " " + target.Health + " " + target.LastError
			}
			targets = append(targets, text)
		}
	}
	return targets
}

// query returns the number of series of an expression.
func (p prometheusServer) query(expression string) int {
	p.t.Helper()
	var answer struct{ Result []any }
	if !p.get("/api/v1/query?query="+url.QueryEscape(expression), &answer) {
		p.t.Errorf("Prometheus rejects %s", expression)
	}
	return len(answer.Result)
}

// kubeconfig writes a configuration of kubectl and returns its path.
func kubeconfig(t *testing.T, as *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"it": {Server: as.Host, CertificateAuthorityData: as.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"it": {ClientCertificateData: as.CertData, ClientKeyData: as.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"it": {Cluster: "it", AuthInfo: "it"}},
		CurrentContext: "it",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// ownAddress returns an address of this machine that an EndpointSlice may have: none of
// the loopback interface.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range all {
		if n, ok := address.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no IPv4 address beside that of its loopback interface")
	return ""
}

// serveAt serves until the end of the test, and returns the port, which is a free one if 0 is
// asked for. It returns 0 if the port is in use, as the machine's own JVMs may do.
func (c *cluster) serveAt(host string, port int32, handler http.Handler) int32 {
	c.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if errors.Is(err, syscall.EADDRINUSE) {
		return 0
	}
	if err != nil {
		c.t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}} //nolint:gosec // until the end of the test
	server.Start()
	c.t.Cleanup(server.Close)
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

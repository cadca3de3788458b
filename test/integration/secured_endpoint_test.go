package integration

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/pkg/endpointsecurity"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	hotspot "banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// securedEndpoint is that of a real JVM, over TLS and with a password.
type securedEndpoint struct {
	address string
	// folder has the files of a scraper: ca.crt and password.
	folder string
	client *http.Client
}

// The server's name and the password of the files that docs/prometheus.md shows.
const (
	endpointName     = "metrics.shop"
	endpointUser     = "prometheus"
	endpointPassword = "a password of this test"
)

// exportSecurely runs a JVM whose endpoint is secured by a Secret, and publishes it in an
// EndpointSlice.
func exportSecurely(c *cluster) securedEndpoint {
	c.t.Helper()
	host := ownAddress(c.t)
	secret := &corev1.Secret{ObjectMeta: c.named("metrics"), Data: credentials(c.t)}
	create(c.t, secret)
	file, err := endpointsecurity.Parse(secret.Data, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	java := startJVM(c.t)
	port := load(c.t, java.Process.Pid, file.Content)

	pod := c.run(aPod("app-0").at(host))
	c.configure(rules)
	e := c.anExporter("shop")
	e.Spec.Port, e.Spec.EndpointSecurity = port, &v1alpha1.EndpointSecurity{SecretName: secret.Name}
	create(c.t, e)
	c.operate().tire()
	if got := phaseOf(c.attachment(pod)); got != isAnnotated {
		c.t.Fatalf("the pod is %s", got)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(secret.Data[corev1.TLSCertKey])
	endpoint := securedEndpoint{
		address: net.JoinHostPort(host, strconv.Itoa(int(port))), folder: c.t.TempDir(),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: endpointName}}},
	}
	write(c.t, endpoint.folder, "ca.crt", string(secret.Data[corev1.TLSCertKey]))
	write(c.t, endpoint.folder, "password", endpointPassword)
	return endpoint
}

// credentials returns the content of a Secret with a new certificate and a password.
func credentials(t *testing.T) map[string][]byte {
	t.Helper()
	const iterations = 1000
	certificate, key, err := cert.GenerateSelfSignedCertKey(endpointName, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	salt := []byte("of the test")
	hash, err := pbkdf2.Key(sha256.New, endpointPassword, salt, iterations, sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key,
		endpointsecurity.KeyUsername: []byte(endpointUser), endpointsecurity.KeyPasswordHash: []byte(hex.EncodeToString(hash)),
		endpointsecurity.KeySalt: []byte(hex.EncodeToString(salt)), endpointsecurity.KeyAlgorithm: []byte("PBKDF2WithHmacSHA256"),
		endpointsecurity.KeyIterations: []byte(strconv.Itoa(iterations)),
	}
}

// load loads the agent with a security file, and returns the port that it serves. The
// command-line tool has no flag for such a file.
func load(t *testing.T, pid int, security []byte) int32 {
	t.Helper()
	start, err := hotspot.StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	var contents bytes.Buffer
	var files []helperapi.File
	for _, f := range []struct {
		prefix, suffix string
		data           []byte
	}{
		{"agent-", ".jar", []byte(readFile(t, "../../bin/agent/agent.jar"))},
		{"exporter-", ".jar", []byte(readFile(t, "../../bin/agent/exporter.jar"))},
		{"config-", ".yaml", []byte(rules)},
		{"security-", "", security},
	} {
		contents.Write(f.data)
		files = append(files, helperapi.NewFile(f.prefix, f.data, f.suffix))
	}
	request := helperapi.Request{
		Target: &helperapi.Target{PID: pid, StartTime: start}, Files: files, ListeningPorts: true,
		Desired: &helperapi.Desired{
			Agent: files[0].Name, AgentSHA256: files[0].SHA256, Implementation: files[1].Name, ImplementationSHA256: files[1].SHA256,
			Config: files[2].Name, ConfigSHA256: files[2].SHA256, Security: files[3].Name, SecuritySHA256: files[3].SHA256,
		},
	}
	h := helper.Helper{Version: "test"}
	var report helperapi.Report
	if !soon(t, func() bool { // a JVM that has just started is left to its start
		if report = h.Do(t.Context(), helperapi.VerbStage, request, bytes.NewReader(contents.Bytes())); report.Error == nil {
			report = h.Do(t.Context(), helperapi.VerbLoad, request, nil)
		}
		return report.Error == nil
	}) {
		t.Fatalf("load: %v", report.Error)
	}
	return report.Processes[0].Mark.Port
}

// get requests a page of the endpoint with a password; without one if it is empty.
func (e securedEndpoint) get(ctx context.Context, scheme, password string) (status int, page string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+e.address+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if password != "" {
		request.SetBasicAuth(endpointUser, password)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// refusesOthers checks that the endpoint serves nothing in the clear or without the
// password.
func (e securedEndpoint) refusesOthers(t *testing.T) {
	t.Helper()
	if status, _, err := e.get(t.Context(), "http", endpointPassword); err == nil && status == http.StatusOK {
		t.Error("the endpoint serves metrics in the clear")
	}
	if status, _, err := e.get(t.Context(), "https", ""); err != nil || status != http.StatusUnauthorized {
		t.Errorf("without a password the endpoint answers %d, %v", status, err)
	}
}

// series returns all that the endpoint serves.
func (e securedEndpoint) series(ctx context.Context) ([]string, error) {
	status, page, err := e.get(ctx, "https", endpointPassword)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("the endpoint answers %d: %s", status, page)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		return nil, err
	}
	var series []string
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
		if err != nil {
			return nil, err
		}
		for _, sample := range samples {
			series = append(series, sample.Metric.String())
		}
	}
	slices.Sort(series)
	return series, nil
}

// page waits for a page that needs no credentials, and returns it.
func page(t *testing.T, url string) string {
	t.Helper()
	var body []byte
	var err error
	if !soon(t, func() bool {
		body, err = fetch(t.Context(), url)
		return err == nil
	}) {
		t.Fatal(err)
	}
	return string(body)
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

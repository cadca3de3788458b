package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The operator's own metrics are served over TLS to clients with the right to get /metrics;
// a certificate that is replaced in its folder is served without a restart.
func TestMetricsEndpoint(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	folder := t.TempDir()
	first := writeCertificate(t, folder)
	address := c.serveMetrics(manager.CertificateFiles{Dir: folder, Cert: "tls.crt", Key: "tls.key"})

	nobody, outsider, prometheus := "", c.token("outsider"), c.token("prometheus")
	c.grantPrometheus()

	// Its first start takes a while; a request that it must reject is never answered.
	eventually(t, func() bool { return scrape(t, address, first, prometheus) == http.StatusOK })
	for name, test := range map[string]struct {
		token string
		want  int
	}{
		"without a token": {nobody, http.StatusUnauthorized},
		// A token that the API server rejects is an error to the filter.
		"with a made-up token": {"made-up", http.StatusInternalServerError},
		"without the right":    {outsider, http.StatusForbidden},
		"with the right":       {prometheus, http.StatusOK},
		"with a forged token":  {prometheus + "x", http.StatusInternalServerError},
	} {
		if got := scrape(t, address, first, test.token); got != test.want {
			t.Errorf("scrape %s: got status %d, want %d", name, got, test.want)
		}
	}
	if response, err := http.Get("http://" + address + "/metrics"); err == nil {
		if response.Body.Close(); response.StatusCode == http.StatusOK {
			t.Error("metrics are served over plain HTTP")
		}
	}

	second := writeCertificate(t, folder)
	eventually(t, func() bool { return scrape(t, address, second, prometheus) == http.StatusOK })
	if got := scrape(t, address, first, prometheus); got != 0 {
		t.Errorf("scrape that trusts the replaced certificate: got status %d, want no connection", got)
	}
}

// A named certificate that does not exist stops the operator: a self-signed replacement
// would go unnoticed.
func TestMetricsCertificateMissing(t *testing.T) {
	t.Parallel()
	_, err := manager.New(config, manager.Options{
		MetricsAddress: "127.0.0.1:0", HealthAddress: "0", MetricsSecure: true,
		MetricsCertificate: manager.CertificateFiles{Dir: t.TempDir(), Cert: "tls.crt", Key: "tls.key"},
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("start without the certificate: got %v, want fs.ErrNotExist", err)
	}
}

// serveMetrics runs an operator with the rights of config/metrics-auth and returns the
// address of its metrics.
func (c *cluster) serveMetrics(files manager.CertificateFiles) string {
	c.t.Helper()
	return c.serveMetricsAt("127.0.0.1", files)
}

// serveMetricsAt does so at an address of this machine, with other options.
func (c *cluster) serveMetricsAt(host string, files manager.CertificateFiles, change ...func(*manager.Options)) string {
	c.t.Helper()
	name := "operator-of-" + c.namespace
	user := addUser(c.t, name, serviceAccounts)
	c.grant(name, "../../config/rbac/role.yaml")
	c.grantEverywhere(rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}, "../../config/metrics-auth/role.yaml")
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		c.t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	options := manager.Options{
		Namespaces: []string{c.namespace}, MetricsAddress: address, MetricsSecure: true, MetricsCertificate: files,
		HealthAddress: "0", Concurrent: 4, Seam: effects.Direct, Limits: transport.NewLimits(4, 4, 4), Artifacts: artifacts,
		Sessions: func() attachment.Session { return perCall{c.containers.Through(effects.Direct)} }, Prober: c.containers.Prober(effects.Direct),
	}
	for _, how := range change {
		how(&options)
	}
	mgr, err := manager.New(user, options)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	c.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	})
	return address
}

// grantPrometheus lets the service account prometheus scrape operators.
func (c *cluster) grantPrometheus() {
	c.t.Helper()
	c.grantEverywhere(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: c.namespace, Name: "prometheus"}, "../../config/metrics-auth/reader_role.yaml")
}

// grantEverywhere binds a shipped ClusterRole, with a name unique to this test.
func (c *cluster) grantEverywhere(subject rbacv1.Subject, file string) {
	c.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		c.t.Fatal(err)
	}
	role.Name += "-" + c.namespace
	create(c.t, &role)
	create(c.t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	})
}

// token returns a token of a service account of this name.
func (c *cluster) token(name string) string {
	c.t.Helper()
	account := create(c.t, &corev1.ServiceAccount{ObjectMeta: c.named(name)})
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(c.t.Context(), account, request); err != nil {
		c.t.Fatal(err)
	}
	return request.Status.Token
}

// writeCertificate writes a new certificate and its key into a folder as the kubelet does,
// and returns a pool that trusts only it.
func writeCertificate(t *testing.T, folder string) *x509.CertPool {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}

// scrape returns the status of GET /metrics; 0 if the server's certificate is not in the
// pool.
func scrape(t *testing.T, address string, trusted *x509.CertPool, token string) int {
	t.Helper()
	client := http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

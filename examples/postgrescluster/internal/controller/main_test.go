package controller

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// admin is an administrator's client, past any cache; environment has the API server.
var (
	admin       client.Client
	environment *envtest.Environment
)

// secondProofs are tests that run only with FULL=1, or by -run: of the operator, which may crash at
// any effect, and of commits, which stay once they are acknowledged, TestCrashWhileFailingOver is
// the first.
const secondProofs = "^(TestCrashWhile(Seeding|Resizing|Restoring)|TestChaos)$"

func TestMain(m *testing.M) {
	flag.Parse()
	if chosen := flag.Lookup("test.run").Value.String() + flag.Lookup("test.skip").Value.String(); chosen == "" && !full() {
		if err := flag.Set("test.skip", secondProofs); err != nil {
			panic(err)
		}
	}
	os.Exit(run(m))
}

// run starts an API server. No other controller runs: what they would do, the tests do.
func run(m *testing.M) int {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	environment = &envtest.Environment{
		CRDDirectoryPaths:        []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 3 * time.Minute,
	}
	// The addresses of Services are loopback addresses, so that a member listens on that of
	// its Service, and nobody needs to forward anything.
	server := environment.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount").
		Set("service-cluster-ip-range", "127.64.0.0/16")
	if !full() {
		// From its cache, the API server would answer a list only after etcd has reported that the
		// cache is up to date, which it asks for ten times a second.
		server.Append("watch-cache", "false")
		_ = os.Setenv("GOGC", "400") // of etcd and kube-apiserver: memory is cheaper than CPU time
	}
	defer func() { _ = environment.Stop() }()
	config, err := environment.Start()
	if err == nil {
		config.QPS = -1
		admin, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start etcd and kube-apiserver (KUBEBUILDER_ASSETS; make test sets it):", err)
		return 1
	}
	return m.Run()
}

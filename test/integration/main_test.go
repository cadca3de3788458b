package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/helper"
)

// The API server of this package's tests, with the rights of an administrator.
var (
	environment *envtest.Environment
	config      *rest.Config
	admin       client.WithWatch
	scheme      = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helper.TrialCommand { // run by a helper in this process
		os.Exit(helper.Trial(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	assets, err := binaries()
	if err != nil {
		fmt.Fprintln(os.Stderr, "SKIP: etcd and kube-apiserver are not available:", err)
		if os.Getenv("CI") == "true" {
			return 1
		}
		return 0
	}
	log.SetLogger(zap.New(zap.WriteTo(logs())))
	environment = &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// The defaults of 20 and 10 seconds are too short for a busy machine.
		ControlPlaneStartTimeout: 3 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
	}
	server := environment.ControlPlane.GetAPIServer().Configure()
	// No controller manager runs, so nothing creates the service accounts that
	// this plugin requires.
	server.Append("disable-admission-plugins", "ServiceAccount")
	if !full() {
		// From its cache, the API server would answer a list only after etcd has reported that the
		// cache is up to date, which it asks for ten times a second.
		server.Append("watch-cache", "false")
	}
	if os.Getenv("GOGC") == "" { // for some minutes, memory is cheaper than CPU time
		debug.SetGCPercent(400)
		os.Setenv("GOGC", "400") // of etcd and kube-apiserver
	}
	unaudit, err := audit(environment)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer unaudit()
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot stop etcd and kube-apiserver:", err)
		}
	}()
	if config, err = environment.Start(); err == nil {
		config.QPS = -1
		err = errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	}
	if err == nil {
		admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start etcd and kube-apiserver:", err)
		return 1
	}
	return m.Run()
}

// certificates guards the certificate authority of envtest: parallel tests that
// add users at the same time race for its serial numbers.
var certificates sync.Mutex

// addUser returns the configuration of a client with this user name, which has no
// rights.
func addUser(t *testing.T, name string) *rest.Config {
	t.Helper()
	certificates.Lock()
	defer certificates.Unlock()
	user, err := environment.AddUser(envtest.User{Name: name, Groups: []string{"system:authenticated"}}, config)
	if err != nil {
		t.Fatal(err)
	}
	return user.Config()
}

// binaries returns the directory with etcd and kube-apiserver: KUBEBUILDER_ASSETS,
// or what hack/binaries builds once and caches.
func binaries() (string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return assets, nil
	}
	command := exec.Command(filepath.Join("..", "..", "hack", "binaries"), "assets")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS is not set, and hack/binaries assets failed: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// logs is the destination of the operator's log: discarded, unless LOGS names a file.
func logs() *os.File {
	name := os.Getenv("LOGS")
	if name == "" {
		name = os.DevNull
	}
	file, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	return file
}

// newClient returns a client with another configuration. It shares the administrator's
// knowledge of the API instead of requesting it again.
func newClient(config *rest.Config) (client.WithWatch, error) {
	return client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: admin.RESTMapper()})
}

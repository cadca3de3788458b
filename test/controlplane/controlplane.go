// Package controlplane is a real etcd and kube-apiserver for the tests of a package, with
// the CRDs of config/crd. No controller and no kubelet runs.
package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// root is the folder of the module: the first one with a go.mod, from the working directory
// upwards.
var root = func() string {
	folder := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		folder = filepath.Join(folder, "..")
	}
	return folder
}()

// ErrMissing means that there is no etcd or kube-apiserver to start.
var ErrMissing = errors.New("etcd and kube-apiserver are not available")

// New returns a control plane that is not started yet.
func New() (*envtest.Environment, error) {
	assets, err := binaries()
	if err != nil {
		return nil, err
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// The defaults of 20 and 10 seconds are too short for a busy machine.
		ControlPlaneStartTimeout: 3 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
	}
	// No controller manager runs, so nothing creates the service accounts that this plugin
	// requires.
	environment.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount")
	if os.Getenv("GOGC") == "" { // for some minutes, memory is cheaper than CPU time
		debug.SetGCPercent(400)
		os.Setenv("GOGC", "400") // of etcd and kube-apiserver
	}
	return environment, nil
}

// Uncached makes the API server answer lists from etcd: from its cache, it would answer a
// list only after etcd has reported that the cache is up to date, which it asks for ten
// times a second.
func Uncached(environment *envtest.Environment) {
	environment.ControlPlane.GetAPIServer().Configure().Append("watch-cache", "false")
}

// Run runs the tests of a package between the start and the end of its control plane. ready is
// called before them, with the configuration of an administrator, whose requests are not
// limited. The result is the exit code of a TestMain.
func Run(m *testing.M, environment *envtest.Environment, scheme *runtime.Scheme, ready func(*rest.Config) error) int {
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot stop etcd and kube-apiserver:", err)
		}
	}()
	config, err := environment.Start()
	if err == nil {
		err = AddToScheme(scheme)
	}
	if err == nil {
		config.QPS = -1
		err = ready(config)
	}
	if err != nil {
		return Fail(err)
	}
	return m.Run()
}

// AddToScheme adds the kinds of Kubernetes and of the operator.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

// Fail reports an error of New on standard error, and returns the exit code of a TestMain:
// without the binaries, tests are skipped, and fail where CI is set.
func Fail(err error) int {
	if errors.Is(err, ErrMissing) && os.Getenv("CI") != "true" {
		fmt.Fprintln(os.Stderr, "SKIP:", err)
		return 0
	}
	fmt.Fprintln(os.Stderr, "cannot start etcd and kube-apiserver:", err)
	return 1
}

// binaries returns the directory with etcd and kube-apiserver: KUBEBUILDER_ASSETS, or what
// hack/binaries builds once and caches.
func binaries() (string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return assets, nil
	}
	command := exec.Command(filepath.Join(root, "hack", "binaries"), "assets")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%w: KUBEBUILDER_ASSETS is not set, and hack/binaries assets failed: %w", ErrMissing, err)
	}
	return strings.TrimSpace(string(out)), nil
}

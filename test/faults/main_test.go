package faults

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"banzaicloud.com/jmx-exporter-operator/test/controlplane"
)

// The API server of all plans, with the rights of an administrator.
var (
	config *rest.Config
	admin  client.WithWatch
	scheme = runtime.NewScheme()
	// installed are the CRDs.
	installed envtest.CRDInstallOptions
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(operatorVariable); spec != "" { // this process is the operator of a plan
		log.SetLogger(zap.New())
		if err := operate(spec); err != nil {
			fmt.Fprintln(os.Stderr, "the operator ended:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // streams that end early, as they should
	os.Exit(serve(m))
}

func serve(m *testing.M) int {
	environment, err := controlplane.New()
	if err != nil {
		return controlplane.Fail(err)
	}
	controlplane.Uncached(environment)
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return controlplane.Fail(err)
	}
	return controlplane.Run(m, environment, scheme, func(as *rest.Config) error {
		config, installed = as, environment.CRDInstallOptions
		admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
		return err
	})
}

package faults

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"banzaicloud.com/jmx-exporter-operator/test/controlplane"
)

// The API server of all plans, with the rights of an administrator.
var (
	config *rest.Config
	admin  client.Client
	scheme = runtime.NewScheme()
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
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot stop etcd and kube-apiserver:", err)
		}
	}()
	if config, err = environment.Start(); err == nil {
		config.QPS = -1
		err = controlplane.AddToScheme(scheme)
	}
	if err == nil {
		admin, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err != nil {
		return controlplane.Fail(err)
	}
	return m.Run()
}

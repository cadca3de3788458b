//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/e2e-framework/klient/conf"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	postgres "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	pulsar "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
)

const root = "../.."

var (
	testenv = env.NewWithConfig(envconf.New().WithKubeconfigFile(conf.ResolveKubeConfigFile()))
	// The folders of what is deployed, and the operators' namespaces and Deployments.
	operators = []operator{
		{folder: "../postgrescluster", namespace: "postgrescluster-system", deployment: "postgrescluster-operator"},
		{folder: "../pulsarconsumer", namespace: "pulsarconsumer-system", deployment: "pulsarconsumer-operator"},
		{folder: root, namespace: "jmx-exporter-system", deployment: "jmx-exporter-operator"},
	}
	images = []string{"postgrescluster-operator:dev", "postgrescluster-member:dev", "pulsarconsumer-operator:dev", "pulsar-consumer:dev", "pulsar-broker:dev", "jmx-exporter-operator:dev"}
)

type operator struct{ folder, namespace, deployment string }

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard())
	os.Exit(testenv.Setup(begin, deploy).Finish(undeploy).Run(m))
}

// begin sees to it that the cluster is one for tests, and loads the images.
func begin(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	current, err := kubectl(ctx, "config", "current-context")
	if err != nil {
		return ctx, fmt.Errorf(`no cluster: make cluster-up, and eval "$(hack/cluster env)": %w`, err)
	}
	if !strings.HasPrefix(current, "kind-") {
		return ctx, fmt.Errorf(`the current context is %s, which is no kind cluster: make cluster-up, and eval "$(hack/cluster env)"`, current)
	}
	if err := errors.Join(postgres.AddToScheme(scheme.Scheme), pulsar.AddToScheme(scheme.Scheme)); err != nil {
		return ctx, err
	}
	_, err = run(ctx, root+"/hack/images", append([]string{"load"}, images...)...)
	return ctx, err
}

// deploy does what the READMEs tell people to.
func deploy(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	for _, o := range operators {
		if _, err := run(ctx, "make", "-C", o.folder, "deploy"); err != nil {
			return ctx, err
		}
		if _, err := kubectl(ctx, "rollout", "status", "--namespace", o.namespace, "deployment/"+o.deployment, "--timeout", conditionTimeout.String()); err != nil {
			return ctx, err
		}
	}
	return ctx, nil
}

func undeploy(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	var err error
	for _, o := range operators {
		_, failed := run(ctx, "make", "-C", o.folder, "undeploy")
		err = errors.Join(err, failed)
	}
	return ctx, err
}

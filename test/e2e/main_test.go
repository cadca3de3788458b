//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

var (
	testenv = env.New()
	suite   = funcs.NewSuite("../..")
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	// Features mostly wait for the cluster, so more of them run in parallel than this machine
	// has processors.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6")
	}
	left := leaveOut()
	log.SetLogger(logr.Discard())
	code := testenv.
		Setup(suite.Up, suite.Load, suite.Deploy).
		Finish(suite.Leave).
		Run(m)
	if left != "" {
		fmt.Fprintln(os.Stderr, left)
	}
	if err := suite.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return max(code, 1)
	}
	return code
}

const (
	demo     = "../../hack/demo/manifests/"
	samples  = "../../config/samples/"
	rules    = samples + "configmap.yaml"
	exporter = samples + "prometheusjmxexporter.yaml"
	java17   = "manifests/app/java17.yaml"
	java25   = "manifests/app/java25.yaml"
	java17x3 = "manifests/app/three.yaml"
	idle     = "manifests/no-java/app.yaml"
	// port is that of the sample's exporter.
	port = 9400
)

// running returns a feature whose applications run before any other step: pods, of which
// jvms run Java, and their recorded initial state. They begin at once, while other features
// wait for the operator; a parallel test pauses after this. With FULL=1 they begin with the
// feature, because a node does not hold all of them.
func running(t *testing.T, name string, pods, jvms int, files ...string) (namespace string, applications *funcs.Applications, feature *features.FeatureBuilder) {
	t.Helper()
	namespace = funcs.NamespaceFor(name)
	applications = funcs.ApplicationsIn(namespace)
	feature = features.New(name)
	if begin := funcs.All(funcs.InNamespace(namespace), funcs.Apply(namespace, files...)); full() {
		feature.WithSetup("applications", begin)
	} else {
		begin(t.Context(), t, testenv.EnvConf())
	}
	return namespace, applications, feature.
		WithSetup("the pods are running", funcs.Running(namespace, pods, jvms)).
		WithSetup("the initial state is recorded", applications.Remember())
}

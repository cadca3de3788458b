package funcs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Suite is what the features share. Its methods are the framework's Setup and Finish.
type Suite struct {
	root                  string
	existing              bool
	wasUp, hadOperator    bool
	kubeconfig, kindName  string
	restartsBefore, kills int32
	operatorUID           string
	mu                    sync.Mutex
	built                 map[string]string // by kustomization
	// leaving is what went wrong in Leave; the framework only logs it.
	leaving error
	// LeavesOut is true where features are left to FULL=1.
	LeavesOut bool
}

// images are those of the features that run every time.
var images = []string{"jmx-exporter-operator:dev", "jmx-exporter-operator:next", "dummyapp:8", "dummyapp:17", "dummyapp:25", "dummyapp:17-noshell", "pause:dev", "prometheus:dev"}

// NewSuite returns the suite of a repository.
func NewSuite(root string) *Suite {
	return &Suite{root: root, existing: os.Getenv("E2E_CLUSTER") == "existing", built: map[string]string{}}
}

// Up takes the cluster, or brings it up.
func (s *Suite) Up(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	var err error
	if s.root, err = filepath.Abs(s.root); err != nil {
		return ctx, err
	}
	if s.existing {
		s.wasUp = true
	} else {
		_, err := s.output(ctx, "hack/cluster", "status")
		s.wasUp = err == nil
		if err := s.run(ctx, "hack/cluster", "up"); err != nil {
			return ctx, err
		}
		path, err := s.output(ctx, "hack/cluster", "kubeconfig")
		if err != nil {
			return ctx, err
		}
		s.kubeconfig = strings.TrimSpace(path)
	}
	config, context, err := s.restConfig()
	if err != nil {
		return ctx, err
	}
	s.kindName, _ = strings.CutPrefix(context, "kind-")
	if !strings.HasPrefix(context, "kind-") {
		s.kindName = ""
	}
	kube, err := klient.New(config)
	if err != nil {
		return ctx, err
	}
	cfg.WithClient(kube)
	return ctx, nil
}

func (s *Suite) restConfig() (config *rest.Config, context string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if s.kubeconfig != "" {
		rules.ExplicitPath = s.kubeconfig
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", err
	}
	config, err = loader.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	config.QPS = -1
	return config, raw.CurrentContext, v1alpha1.AddToScheme(scheme.Scheme)
}

// Load puts the images into the nodes.
func (s *Suite) Load(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if s.kindName == "" {
		if os.Getenv("IMAGES") == "present" {
			return ctx, nil
		}
		return ctx, errors.New("this is no kind cluster, so the images cannot be loaded into it: make them by 'hack/images build', bring them there under their names, and run this again with IMAGES=present")
	}
	load := strings.Fields(os.Getenv("E2E_IMAGES"))
	if len(load) == 0 && s.LeavesOut {
		load = images
	}
	return ctx, s.run(ctx, "hack/images", append([]string{"load"}, load...)...)
}

// Deploy deploys config/default and waits for the operator.
func (s *Suite) Deploy(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	c, err := clusterOf(cfg)
	if err != nil {
		return ctx, err
	}
	if err := await(ctx, patience, func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKey{Name: OperatorNamespace}, &corev1.Namespace{})
		s.hadOperator = err == nil
		return client.IgnoreNotFound(err)
	}); err != nil {
		return ctx, err
	}
	if err := s.install(ctx, c); err != nil {
		return ctx, err
	}
	return ctx, c.startObserver(ctx)
}

// Leave takes away what the suite has brought.
func (s *Suite) Leave(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	s.leaving = s.leave(ctx, cfg)
	return ctx, s.leaving
}

// Err is what went wrong when the suite was left: what it found wrong with the
// operator counts as a failure, too.
func (s *Suite) Err() error { return s.leaving }

func (s *Suite) leave(ctx context.Context, cfg *envconf.Config) error {
	if cfg.GetClient() == nil {
		return nil
	}
	c, err := clusterOf(cfg)
	if err != nil {
		return err
	}
	err = errors.Join(s.survived(ctx, c), s.rightsUsed(ctx, c))
	if os.Getenv("E2E_KEEP") != "" {
		return err
	}
	if !s.wasUp {
		return errors.Join(err, s.run(ctx, "hack/cluster", "down"))
	}
	err = errors.Join(err, c.deleteNamespaces(ctx))
	if !s.hadOperator {
		err = errors.Join(err, s.undeploy(ctx))
	}
	return err
}

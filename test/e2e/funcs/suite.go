package funcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The operator of config/default.
const (
	OperatorNamespace = "jmx-exporter-system"
	operatorName      = "jmx-exporter-operator"
	operatorKey       = "app.kubernetes.io/name"
	operatorLabel     = operatorKey + "=" + operatorName
	operatorUser      = "system:serviceaccount:" + OperatorNamespace + ":" + operatorName
	// imageAnnotation tells which image the Deployment runs: its name is always
	// the same. hack/demo/demo keeps it too.
	imageAnnotation = "demo-image"
	// kubectl is who applies the operator elsewhere; so nobody has to take
	// fields over from the tests.
	kubectl = client.FieldOwner("kubectl")
)

// Suite is what the features share. Its methods are the framework's Setup and Finish.
type Suite struct {
	root                  string
	existing              bool
	wasUp, hadOperator    bool
	kubeconfig, kindName  string
	restartsBefore, kills int32
	operatorUID           string
	// leaving is what went wrong in Leave; the framework only logs it.
	leaving error
}

// NewSuite returns the suite of a repository.
func NewSuite(root string) *Suite {
	return &Suite{root: root, existing: os.Getenv("E2E_CLUSTER") == "existing"}
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
		_, err := s.output(ctx, "hack/kind/cluster", "status")
		s.wasUp = err == nil
		if err := s.run(ctx, "hack/kind/cluster", "up"); err != nil {
			return ctx, err
		}
		path, err := s.output(ctx, "hack/kind/cluster", "kubeconfig")
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
	return ctx, s.run(ctx, "hack/images", "load")
}

// Deploy deploys config/default and waits for the operator.
func (s *Suite) Deploy(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	c, err := clusterOf(cfg)
	if err != nil {
		return ctx, err
	}
	var namespace corev1.Namespace
	err = c.Get(ctx, client.ObjectKey{Name: OperatorNamespace}, &namespace)
	if client.IgnoreNotFound(err) != nil {
		return ctx, err
	}
	s.hadOperator = err == nil
	if err := s.applyOperator(ctx, c, "config/default", OperatorNamespace); err != nil {
		return ctx, err
	}
	if err := s.useImage(ctx, c); err != nil {
		return ctx, err
	}
	if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
		return ctx, err
	}
	if err := c.startObserver(ctx); err != nil {
		return ctx, err
	}
	pod, err := c.operator(ctx)
	if err != nil {
		return ctx, err
	}
	s.operatorUID, s.restartsBefore = string(pod.UID), restarts(*pod)
	return ctx, nil
}

// applyOperator applies a kustomization of the operator, the CRDs first and when
// they are established the rest.
func (s *Suite) applyOperator(ctx context.Context, c *cluster, kustomization, namespace string) error {
	objects, err := s.build(ctx, kustomization)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := await(ctx, time.Minute, func(ctx context.Context) error {
			return c.apply(ctx, object, kubectl, namespace)
		}); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return await(ctx, time.Minute, func(ctx context.Context) error {
		return errors.Join(c.List(ctx, &v1alpha1.JmxAttachmentList{}), c.List(ctx, &v1alpha1.PrometheusJmxExporterList{}))
	})
}

func (s *Suite) build(ctx context.Context, kustomization string) ([]*unstructured.Unstructured, error) {
	text, err := s.output(ctx, "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", kustomization)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// useImage restarts the operator if it runs another image than was loaded.
func (s *Suite) useImage(ctx context.Context, c *cluster) error {
	if s.kindName == "" {
		return nil
	}
	id, err := s.output(ctx, "hack/images", "id", "jmx-exporter-operator:dev")
	if err != nil {
		return err
	}
	id = strings.TrimSpace(id)
	var deployment appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: operatorName}, &deployment); err != nil {
		return err
	}
	before := deployment.Annotations[imageAnnotation]
	if before == id {
		return nil
	}
	base := deployment.DeepCopy()
	deployment.Annotations[imageAnnotation] = id
	if s.hadOperator {
		deployment.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = time.Now().Format(time.RFC3339)
	}
	return c.Patch(ctx, &deployment, client.MergeFrom(base))
}

// operatorReady waits until the operator of a namespace is there as last applied.
func (c *cluster) operatorReady(ctx context.Context, namespace string) error {
	return await(ctx, patience, func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorName}, &d); err != nil {
			return err
		}
		want := *d.Spec.Replicas
		if s := d.Status; s.ObservedGeneration != d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
			return fmt.Errorf("the operator in %s is not rolled out: %+v", namespace, d.Status)
		}
		// Those that are about to go still work.
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{operatorKey: operatorName}); err != nil {
			return err
		}
		if len(pods.Items) != int(want) {
			return fmt.Errorf("%d operators are in %s, not %d", len(pods.Items), namespace, want)
		}
		return nil
	})
}

// operator is the pod of the operator of config/default.
func (c *cluster) operator(ctx context.Context) (*corev1.Pod, error) {
	pods, err := c.pods(ctx, OperatorNamespace, operatorLabel)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("%d operators are in %s, not one", len(pods), OperatorNamespace)
	}
	return &pods[0], nil
}

func restarts(pod corev1.Pod) int32 {
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
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
	err = s.survived(ctx, c)
	if os.Getenv("E2E_KEEP") != "" {
		return err
	}
	if !s.wasUp {
		return errors.Join(err, s.run(ctx, "hack/kind/cluster", "down"))
	}
	err = errors.Join(err, c.deleteNamespaces(ctx))
	if !s.hadOperator {
		err = errors.Join(err, s.undeploy(ctx))
	}
	return err
}

// survived tells whether the operator ran through, but for the times that it
// was killed by a feature.
func (s *Suite) survived(ctx context.Context, c *cluster) error {
	if s.operatorUID == "" {
		return nil
	}
	pod, err := c.operator(ctx)
	if err != nil {
		return err
	}
	if n := restarts(*pod) - s.restartsBefore; string(pod.UID) == s.operatorUID && n != s.kills {
		return fmt.Errorf("the operator was restarted %d times, killed %d times: %+v", n, s.kills, pod.Status.ContainerStatuses)
	}
	return nil
}

// deleteNamespaces deletes the namespaces of this run, and the observer's when no
// other run has one.
func (c *cluster) deleteNamespaces(ctx context.Context) error {
	ours := client.HasLabels{labelFeature}
	return await(ctx, patience, func(ctx context.Context) error {
		var list corev1.NamespaceList
		if err := c.List(ctx, &list, ours); err != nil {
			return err
		}
		others := slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool {
			return n.Labels[labelFeature] != run && n.Name != observerNamespace
		})
		var left []string
		for _, namespace := range list.Items {
			if namespace.Labels[labelFeature] != run && (namespace.Name != observerNamespace || others) {
				continue
			}
			left = append(left, namespace.Name)
			if namespace.DeletionTimestamp.IsZero() {
				if err := c.Delete(ctx, &namespace); err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("namespaces are left: %v", left)
		}
		return nil
	})
}

func (s *Suite) undeploy(ctx context.Context) error {
	path, err := s.output(ctx, "hack/binaries", "kubectl")
	if err != nil {
		return err
	}
	return s.run(ctx, "env", "KUBECTL="+strings.TrimSpace(path), "hack/undeploy")
}

// run runs a command at the top of the repository and shows what it says.
func (s *Suite) run(ctx context.Context, name string, args ...string) error {
	command := s.command(ctx, name, args...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

func (s *Suite) output(ctx context.Context, name string, args ...string) (string, error) {
	command := s.command(ctx, name, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(output), nil
}

func (s *Suite) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if strings.HasPrefix(name, "hack/") {
		name = filepath.Join(s.root, name)
	}
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = s.root
	command.Env = os.Environ()
	if s.kubeconfig != "" {
		command.Env = append(command.Env, "KUBECONFIG="+s.kubeconfig)
	}
	if s.kindName != "" {
		command.Env = append(command.Env, "KIND_CLUSTER="+s.kindName)
	}
	return command
}

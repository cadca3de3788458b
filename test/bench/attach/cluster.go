//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const (
	namespace    = "jmx-exporter-bench"
	operatorName = "jmx-exporter-operator"
	// patience is how long anything may take that is not measured.
	patience = 5 * time.Minute
)

// stdinSent is how many bytes kubectl has got on standard input, to send on.
var stdinSent atomic.Int64

// kubectl runs kubectl in the bench's namespace, with something on its standard
// input unless that is nil.
func kubectl(ctx context.Context, stdin []byte, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", append([]string{"-n", namespace}, args...)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if stdin != nil {
		command.Stdin = bytes.NewReader(stdin)
		stdinSent.Add(int64(len(stdin)))
	}
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()+out.String()))
	}
	return out.String(), nil
}

// until waits until nothing is missing.
func until(ctx context.Context, missing func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := missing(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func connect() (client.WithWatch, error) {
	ctrl.SetLogger(klog.Background()) // what nobody sets is reported with a stack
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster (make cluster-up): %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// deploy brings the operator and the applications into the cluster.
func (b *bench) deploy(ctx context.Context) (err error) {
	if b.Client, err = connect(); err != nil {
		return err
	}
	if err := b.alone(ctx); err != nil {
		return err
	}
	if err := b.enterNodes(ctx); err != nil {
		return err
	}
	err = b.Client.Get(ctx, client.ObjectKey{Name: "jmxattachments." + v1alpha1.GroupVersion.Group}, &apiextensionsv1.CustomResourceDefinition{})
	b.hadCRDs = !apierrors.IsNotFound(err)
	b.deployed = true
	say("deploying the operator into namespace %s", namespace)
	if err := b.apply(ctx); err != nil {
		return err
	}
	return b.findOperator(ctx)
}

// alone fails if something in the cluster would be in the bench's way.
func (b *bench) alone(ctx context.Context) error {
	err := b.Client.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	switch {
	case err == nil:
		return fmt.Errorf("namespace %s exists: another bench runs, or was killed; then kubectl delete namespace %s", namespace, namespace)
	case !apierrors.IsNotFound(err):
		return err
	}
	var operators appsv1.DeploymentList
	if err := b.Client.List(ctx, &operators, client.MatchingLabels{"app.kubernetes.io/name": operatorName}); err != nil {
		return err
	}
	for _, d := range operators.Items {
		everywhere := !strings.Contains(strings.Join(d.Spec.Template.Spec.Containers[0].Args, " "), "--namespace")
		if everywhere && (d.Spec.Replicas == nil || *d.Spec.Replicas > 0) {
			return fmt.Errorf("the operator in namespace %s works in all namespaces and would attach, too: make undeploy", d.Namespace)
		}
	}
	return nil
}

func (b *bench) apply(ctx context.Context) error {
	manifests, err := exec.CommandContext(ctx, "kubectl", "kustomize", "test/bench/attach/manifests").Output()
	if err != nil {
		return fmt.Errorf("kubectl kustomize: %w", err)
	}
	if b.operator != "" {
		manifests = bytes.ReplaceAll(manifests, []byte("image: jmx-exporter-operator:dev"), []byte("image: "+b.operator))
	}
	// The CRDs may be another's, who applied them as kubectl does.
	if _, err := kubectl(ctx, manifests, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return err
	}
	rules := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rules"}, Data: map[string]string{"config.yaml": string(b.artifacts.config)}}
	return b.Client.Create(ctx, rules)
}

// findOperator waits for the operator and the node agents, one on each node, and notes which
// pods are the operator's and the worker's.
func (b *bench) findOperator(ctx context.Context) error {
	return until(ctx, func(ctx context.Context) error {
		agents, err := b.readyPods(ctx, "app.kubernetes.io/component=node-agent", 2)
		if err != nil {
			return err
		}
		pods, err := b.readyPods(ctx, "app.kubernetes.io/name="+operatorName+",app.kubernetes.io/component!=node-agent", 1)
		if err == nil {
			b.operatorPod = pods[0]
			b.agentPod = agents[slices.IndexFunc(agents, func(a corev1.Pod) bool { return a.Spec.NodeName == b.worker.name })]
		}
		return err
	})
}

// readyPods are the pods that a selector selects, if there are exactly so many and all are
// Ready.
func (b *bench) readyPods(ctx context.Context, selector string, count int) ([]corev1.Pod, error) {
	selects, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := b.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selects}); err != nil {
		return nil, err
	}
	ready := 0
	for _, pod := range pods.Items {
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	if len(pods.Items) != count || ready != count {
		return nil, fmt.Errorf("%d of %d pods with %s are ready, %d are there", ready, count, selector, len(pods.Items))
	}
	return pods.Items, nil
}

// scale makes a number of fresh pods, and none of those before.
func (b *bench) scale(ctx context.Context, count int) (pods []corev1.Pod, err error) {
	if _, err := kubectl(ctx, nil, "scale", "deployment", "dummyapp", fmt.Sprintf("--replicas=%d", count)); err != nil {
		return nil, err
	}
	return pods, until(ctx, func(ctx context.Context) (err error) {
		pods, err = b.readyPods(ctx, "app=dummyapp", count)
		return err
	})
}

// enterNodes starts this program in the nodes of the kind cluster.
func (b *bench) enterNodes(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := b.Client.List(ctx, &nodes); err != nil {
		return err
	}
	for i := range nodes.Items {
		n, err := enter(ctx, nodes.Items[i].Name)
		if err != nil {
			return fmt.Errorf("the nodes must be kind's, with docker: %w", err)
		}
		if _, is := nodes.Items[i].Labels["node-role.kubernetes.io/control-plane"]; is {
			b.controlPlane = n
		} else {
			b.worker = n
		}
	}
	if len(nodes.Items) != 2 || b.controlPlane == nil || b.worker == nil {
		return errors.New("the cluster must have one control plane and one worker (kind-config.yaml)")
	}
	return nil
}

// clean removes all that the bench has started, and joins what goes wrong then.
func (b *bench) clean(err *error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if b.deployed {
		say("removing namespace %s", namespace)
		_, failed := kubectl(ctx, nil, "delete", "namespace", namespace, "--ignore-not-found", "--timeout", patience.String())
		*err = errors.Join(*err, failed)
		if !b.hadCRDs {
			_, failed := kubectl(ctx, nil, "delete", "--ignore-not-found", "crd", "jmxattachments."+v1alpha1.GroupVersion.Group, "prometheusjmxexporters."+v1alpha1.GroupVersion.Group)
			*err = errors.Join(*err, failed)
		}
	}
	for _, n := range []*node{b.controlPlane, b.worker} {
		if n != nil {
			*err = errors.Join(*err, n.leave())
		}
	}
	if *err != nil && os.Getenv("KUBECONFIG") == "" {
		*err = errors.Join(*err, errors.New(`KUBECONFIG is not set: eval "$(hack/cluster env)"`))
	}
}

package funcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The node agents of config/node.
const (
	nodeAgentName      = "jmx-exporter-node"
	nodeAgentContainer = "node-agent"
	nodeAgentLabel     = "app.kubernetes.io/component=node-agent"
)

// NodeAgents waits until a node agent is ready on each node that is to have one.
func NodeAgents() features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		var agents appsv1.DaemonSet
		if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: nodeAgentName}, &agents); err != nil {
			return err
		}
		if s := agents.Status; s.ObservedGeneration != agents.Generation || s.DesiredNumberScheduled == 0 || s.NumberReady != s.DesiredNumberScheduled || s.UpdatedNumberScheduled != s.DesiredNumberScheduled {
			return fmt.Errorf("the node agents are not rolled out: %+v", s)
		}
		return nil
	})
}

// withoutNodeAgents removes the node agents, which config/default does not have.
func (c *cluster) withoutNodeAgents(ctx context.Context) error {
	agents := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: nodeAgentName}}
	err := c.Get(ctx, client.ObjectKeyFromObject(agents), agents)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.remove(ctx, agents, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	return await(ctx, patience, func(ctx context.Context) error {
		return client.IgnoreNotFound(notGone(c.Get(ctx, client.ObjectKeyFromObject(agents), agents), "the DaemonSet of the node agents"))
	})
}

// AttachedBy waits until each record says that its containers are reached by a transport.
func AttachedBy(namespace string, by v1alpha1.Transport) features.Func {
	return attachmentsOf(namespace).untilEach(func(_ context.Context, _ *cluster, r *v1alpha1.JmxAttachment) error {
		if len(r.Status.Containers) == 0 {
			return errors.New("no container was inspected")
		}
		for _, inspected := range r.Status.Containers {
			if got := reachedBy(r, inspected.Name); got != by {
				return fmt.Errorf("container %s of %s is reached by %s, not %s", inspected.Name, r.Spec.Pod.Name, got, by)
			}
		}
		return nil
	})
}

// NodeAgentsKilled applies manifests, and deletes node agents at random moments, without a
// period of grace, while the operator attaches: the first as soon as an agent is about to be
// loaded.
func NodeAgentsKilled(namespace string, files ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := eachObject(namespace, files, func(object *unstructured.Unstructured) error {
			return c.apply(ctx, object, fieldManager, namespace)
		}); err != nil {
			t.Fatal(err)
		}
		c.firstIntent(ctx, t, namespace)
		const kills = 6
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		midway := false
		for range kills {
			agents := answer(ctx, t, func(ctx context.Context) ([]corev1.Pod, error) { return c.pods(ctx, OperatorNamespace, nodeAgentLabel) })
			for _, agent := range agents {
				if err := client.IgnoreNotFound(c.Delete(ctx, &agent, client.GracePeriodSeconds(0))); err != nil {
					t.Fatal(err)
				}
			}
			records := attachmentsOf(namespace).all(ctx, t, c)
			midway = midway || slices.ContainsFunc(records, func(r v1alpha1.JmxAttachment) bool { return r.Status.Phase != v1alpha1.PhaseAnnotated })
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond) // a moment at random, not a wait for anything
		}
		if !midway {
			t.Error("the node agents were killed too late to prove anything")
		}
	})
}

// StolenTokenAtNodeAgents has somebody with a token of the operator's try in a node agent what
// the operator never does: a policy refuses each.
func StolenTokenAtNodeAgents() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		agents := answer(ctx, t, func(ctx context.Context) ([]corev1.Pod, error) {
			pods, err := c.pods(ctx, OperatorNamespace, nodeAgentLabel)
			if err == nil && len(pods) == 0 {
				err = errors.New("there is no node agent")
			}
			return pods, err
		})
		thief := answer(ctx, t, func(ctx context.Context) (*rest.Config, error) { return c.steal(ctx, nil) })
		for what, command := range map[string][]string{
			"a command of the image":       {helperapi.DoorProgram, "inspect"},
			"an unload":                    {helperapi.DoorProgram, "unload", "--pid", "1"},
			"a session of a door":          {helperapi.DoorProgram, string(helperapi.VerbServe), helperapi.ServeInDoor},
			"a session with further flags": {helperapi.DoorProgram, string(helperapi.VerbServe), helperapi.ServeOnNode, "--allow-privileged"},
			"a session with jars":          {helperapi.DoorProgram, string(helperapi.VerbServe), "0000"},
			"another node agent":           {helperapi.DoorProgram, string(helperapi.VerbNode)},
		} {
			_, _, err := execAs(ctx, thief, nil, OperatorNamespace, agents[0].Name, nodeAgentContainer, command...)
			if err := refusedByPolicy(err); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// markFromNode is what the agent in a process says of itself, as a helper reads it in the
// observer of its node.
func (c *cluster) markFromNode(ctx context.Context, r *v1alpha1.JmxAttachment, p *v1alpha1.JavaProcess) (*helperapi.Mark, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
		return nil, err
	}
	seen, err := c.look(ctx, []corev1.Pod{pod})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(seen.processes, func(seen process) bool {
		return seen.container == shortID(p.ContainerID) && seen.pid == int(p.PID) && seen.start == strconv.FormatInt(p.StartTime, 10)
	})
	if i < 0 {
		return nil, fmt.Errorf("pod %s has no process %d: %+v", pod.Name, p.PID, seen.processes)
	}
	helper, err := os.ReadFile(filepath.Join("..", "..", "bin", "jmx-attach-"+runtime.GOARCH))
	if err != nil {
		return nil, err
	}
	observers, err := c.pods(ctx, observerNamespace, observerLabel)
	if err != nil {
		return nil, err
	}
	i, observer := seen.processes[i].hostPID, slices.IndexFunc(observers, func(o corev1.Pod) bool { return o.Spec.NodeName == pod.Spec.NodeName })
	if observer < 0 {
		return nil, fmt.Errorf("no observer is on node %s", pod.Spec.NodeName)
	}
	const script = `t=$(mktemp) && cat >"$t" && chmod 755 "$t" && "$t" status --pid "$1" -o json; rm -f "$t"`
	stdout, stderr, err := execAs(ctx, c.config, bytes.NewReader(helper), observerNamespace, observers[observer].Name, "observer", "sh", "-c", script, "status", strconv.Itoa(i))
	if err != nil {
		return nil, err
	}
	return markIn(pod.Name, stdout, stderr)
}

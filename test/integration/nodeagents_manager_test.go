package integration

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/nodeagents"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// nodeAgent creates the pod of a node agent, which is ready.
func (c *cluster) nodeAgent(node string) *corev1.Pod {
	c.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.namespace, Name: "jmx-exporter-node-" + node,
		Labels:          map[string]string{"app.kubernetes.io/name": nodeagents.DaemonSetName, "app.kubernetes.io/component": "node-agent"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: nodeagents.DaemonSetName, UID: "agents", Controller: new(true)}},
	}}
	pod.Spec = corev1.PodSpec{NodeName: node, ServiceAccountName: nodeagents.DaemonSetName, HostPID: true, TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: nodeagents.ContainerName, Image: "registry.example/operator"}}}
	create(c.t, pod)
	pod.Status = corev1.PodStatus{
		Phase:             corev1.PodRunning,
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
		ContainerStatuses: []corev1.ContainerStatus{running(nodeagents.ContainerName)},
	}
	c.updateStatus(pod)
	return pod
}

// The operator follows the node agents of its own namespace, of which it watches no other pod:
// one that becomes ready leads to a visit of the pods of its node that wait for it, and of a pod
// that no other transport reaches.
func TestManagerWithNodeAgents(t *testing.T) {
	t.Parallel()
	c, own := newCluster(t), newCluster(t)
	agents := nodeagents.New(clientsetOf(t, config), own.namespace, clock.RealClock{})
	exec := c.containers.Through(effects.Direct)
	// A fake of the conversation with a node agent.
	byNode := helperFunc(func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
		if in.Transport != v1alpha1.TransportNode {
			return exec.Run(ctx, in, verb, request, blobs...)
		}
		if _, err := agents.On(ctx, in.Node); err != nil {
			return nil, err
		}
		return c.containers.Exec(in, verb, request, blobs)
	})
	mgr, err := manager.New(config, manager.Options{
		Namespaces: []string{c.namespace}, MetricsAddress: "0", HealthAddress: "0", Concurrent: 4, Seam: effects.Direct, NodeAgents: agents,
		Sessions: func() attachment.Session { return perCall{byNode} }, Limits: transport.NewLimits(4, 4, 4), Prober: c.containers.Prober(effects.Direct), Artifacts: artifacts,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	own.nodeAgent("node-1")
	first, second := c.run(aPod("app-0").withoutShell()), c.run(aPod("app-1").on("node-2").withoutShell())
	c.configure(rules)
	exporter := c.anExporter("exporter")
	exporter.Spec.Transport = v1alpha1.TransportNode
	create(t, exporter)

	phase := func(pod *corev1.Pod) string {
		if a := c.attachment(pod); a != nil {
			return phaseOf(a)
		}
		return ""
	}
	expect := func(what string, pod *corev1.Pod, want string) {
		t.Helper()
		eventually(t, func() bool { return phase(pod) == want })
		if got := phase(pod); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	expect("there is a node agent", first, isAnnotated)
	expect("there is none", second, "Discovered NodeAgentMissing")
	own.nodeAgent("node-2")
	expect("one becomes ready", second, isAnnotated)

	third := c.run(aPod("app-2").on("node-3").withoutShell())
	expect("there is none on the third node", third, "Discovered NodeAgentMissing")
	change(t, exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = v1alpha1.TransportExec })
	expect("exec is asked for", third, "Discovered NoShell")
	change(t, exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Transport = v1alpha1.TransportAuto
		e.Spec.Mode = v1alpha1.ModePreflight
	})
	expect("no ephemeral container may be added", third, "Discovered NoShell")
	own.nodeAgent("node-3")
	expect("one becomes ready on the third node", third, isPreflight)
	if loads := c.jvm(first).Loads; loads != 1 {
		t.Errorf("loads: got %d, want 1", loads)
	}
}

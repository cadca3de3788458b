package bundle

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// logLines and logBytes limit the log of a pod.
const (
	logLines = 10_000
	logBytes = 8 << 20
)

// logs adds the logs of the operator's pods, and of their previous instances if they restarted.
func (g *gatherer) logs(ctx context.Context, d *appsv1.Deployment) {
	var pods corev1.PodList
	if err := g.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		g.bundle.omit("the operator's pods", err)
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		g.names.add(pod.Name, pod.Spec.NodeName)
		for _, container := range pod.Status.ContainerStatuses {
			g.log(ctx, pod, container.Name, false)
			if container.RestartCount > 0 {
				g.log(ctx, pod, container.Name, true)
			}
		}
	}
}

func (g *gatherer) log(ctx context.Context, pod *corev1.Pod, container string, previous bool) {
	name, what := "logs/"+pod.Name+"-"+container+".log", "the log of the operator"
	if previous {
		name, what = "logs/"+pod.Name+"-"+container+"-previous.log", "the log of the operator before its restart"
	}
	g.progress("reading %s", name)
	options := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: new(int64(logLines)), LimitBytes: new(int64(logBytes))}
	log, err := g.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
	if err != nil {
		g.bundle.omit(name, err)
		return
	}
	g.bundle.add(name, what, log)
}

package funcs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// diagnostics is what helps to understand a failure in a namespace: pods and
// their output, events, our resources, the end of the operator's log.
func (c *cluster) diagnostics(ctx context.Context, namespace string) string {
	var b strings.Builder
	heading := func(format string, args ...any) { fmt.Fprintf(&b, "\n---- "+format+"\n", args...) }

	heading("pods of %s", namespace)
	var pods corev1.PodList
	b.WriteString(said(c.List(ctx, &pods, client.InNamespace(namespace))))
	for _, pod := range pods.Items {
		fmt.Fprintf(&b, "%s %s on %s, deleted: %v, annotations: %v\n", pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.DeletionTimestamp, pod.Annotations)
		for _, s := range pod.Status.ContainerStatuses {
			fmt.Fprintf(&b, "  %s %s restarts %d, state %+v, before %+v\n", s.Name, s.ContainerID, s.RestartCount, s.State, s.LastTerminationState)
			b.WriteString(c.tail(ctx, &pod, s.Name, 10))
		}
	}

	heading("events of %s", namespace)
	var events eventsv1.EventList
	b.WriteString(said(c.List(ctx, &events, client.InNamespace(namespace))))
	slices.SortFunc(events.Items, func(x, y eventsv1.Event) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	for _, e := range events.Items {
		fmt.Fprintf(&b, "%s %s %s %s/%s: %s\n", e.CreationTimestamp.Format("15:04:05"), e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note)
	}

	for _, list := range []client.ObjectList{
		&v1alpha1.PrometheusJmxExporterList{}, &v1alpha1.JmxAttachmentList{}, &discoveryv1.EndpointSliceList{},
	} {
		heading("%T", list)
		b.WriteString(said(c.List(ctx, list, client.InNamespace(namespace))))
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			o.(client.Object).SetManagedFields(nil)
			text, err := yaml.Marshal(o)
			b.WriteString(cmp.Or(said(err), string(text)+"---\n"))
			return nil
		})
	}

	for _, in := range []string{OperatorNamespace, namespace} {
		operators, err := c.pods(ctx, in, operatorLabel)
		b.WriteString(said(err))
		for _, operator := range operators {
			heading("the end of the log of %s/%s, restarts %d", in, operator.Name, restarts(operator))
			b.WriteString(c.tail(ctx, &operator, "manager", 120))
		}
	}
	return b.String()
}

func (c *cluster) tail(ctx context.Context, pod *corev1.Pod, container string, lines int64) string {
	data, err := c.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, TailLines: new(lines)}).DoRaw(ctx)
	return said(err) + string(data)
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

package describe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// Reasons for which a pod has no record. They are of no condition: there is no object to
// have one.
const (
	optedOut    = "OptedOut"
	notSelected = "NotSelected"
	notRunning  = "NotRunning"
)

// unrecorded returns why a pod has no record.
func unrecorded(ctx context.Context, c *cluster.Cluster, pod *corev1.Pod, name string) (*advice.Verdict, error) {
	if pod == nil {
		return nil, fmt.Errorf("there is neither a pod %s nor a record of one in namespace %s; kubectl jmx status -A lists the pods of all exporters", name, c.Namespace)
	}
	exporters, err := c.Exporters(ctx, pod.Namespace)
	if err != nil {
		return nil, err
	}
	var selecting, others []string
	for i := range exporters.Items {
		e := &exporters.Items[i]
		if e.Spec.Selects(pod.Labels) {
			selecting = append(selecting, e.Name)
		} else {
			others = append(others, fmt.Sprintf("%s (requires %s)", e.Name, strings.Join(lacking(e, pod), ", ")))
		}
	}
	switch {
	case len(selecting) == 0 && len(others) == 0:
		return &advice.Verdict{
			Reason: notSelected, Message: "Namespace " + pod.Namespace + " has no PrometheusJmxExporter.",
			Next: "create one that selects this pod, or find out first whether it can be attached to: kubectl jmx preflight -n " + pod.Namespace + " -l SELECTOR",
		}, nil
	case len(selecting) == 0:
		return &advice.Verdict{
			Reason: notSelected, Message: "No exporter of the namespace selects this pod: " + strings.Join(others, ", ") + ".",
			Next: "change the pod's labels in its template, or the selector of an exporter",
		}, nil
	case pod.Annotations[v1alpha1.AnnotationOptOut] == "true":
		return &advice.Verdict{
			Reason: optedOut, Message: "The pod has the annotation " + v1alpha1.AnnotationOptOut + ".",
			Next: fmt.Sprintf("to include it again: kubectl jmx detach --undo -n %s %s", pod.Namespace, pod.Name),
		}, nil
	case pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning:
		return &advice.Verdict{
			Reason: notRunning, Message: fmt.Sprintf("The pod is not running (phase %s), so there is no JVM to attach to.", pod.Status.Phase),
			Next: fmt.Sprintf("see why: kubectl describe pod -n %s %s", pod.Namespace, pod.Name), Docs: advice.NotRunning(),
		}, nil
	}
	return &advice.Verdict{
		Reason: advice.NotProcessed, Message: fmt.Sprintf("Selected by %s, but the operator has not created a record yet.", strings.Join(selecting, ", ")),
		Next: "if this lasts for more than a few seconds, " + advice.CheckOperator,
	}, nil
}

// lacking returns the requirements of the exporter's selector that a pod does not meet.
func lacking(e *v1alpha1.PrometheusJmxExporter, pod *corev1.Pod) []string {
	var all []string
	requirements, _ := e.Spec.AsSelector().Requirements()
	for _, r := range requirements {
		if !r.Matches(labels.Set(pod.Labels)) {
			all = append(all, r.String())
		}
	}
	slices.Sort(all)
	return all
}

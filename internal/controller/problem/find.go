// Package problem finds the pods of an exporter that do not run as they should,
// whatever is in them, and tells of them: in its status and as Events.
package problem

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// maxListed is how many pods the status lists: with their logs, what an object
// may hold has to last.
const maxListed = 50

// Found are the problem pods of an exporter.
type Found struct {
	// Pods are the first ones by name, Omitted is how many more there are.
	Pods    []v1alpha1.ProblemPod
	Omitted int32
	// Again is when time alone may change this; 0 for never.
	Again time.Duration

	// logged tells by pod UID which containers may have a log.
	logged map[string]bool
}

// Find finds those of the pods that have the exporter's labels and do not run as
// they should. What the exporter's status says already it says in the same words.
// Nothing is found where nobody asked for it.
func Find(exporter *v1alpha1.PrometheusJmxExporter, pods []corev1.Pod, now time.Time) Found {
	found := Found{logged: map[string]bool{}}
	if !exporter.Spec.Alerts.CheckRunningPods {
		return found
	}
	for i := range pods {
		pod := &pods[i]
		if !selection.Selects(exporter, pod) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		d := diagnosis{pod: pod, before: known(exporter.Status.ProblemPods, pod), now: now}
		entry := d.entry()
		found.again(d.again)
		if entry != nil {
			found.Pods = append(found.Pods, *entry)
			found.logged[string(pod.UID)] = d.logged
		}
	}
	slices.SortFunc(found.Pods, func(a, b v1alpha1.ProblemPod) int { return strings.Compare(a.Pod, b.Pod) })
	if more := len(found.Pods) - maxListed; more > 0 {
		found.Pods, found.Omitted = found.Pods[:maxListed:maxListed], int32(more)
	}
	return found
}

// again keeps the earlier time to look again.
func (f *Found) again(in time.Duration) {
	f.Again = enqueue.Earliest(f.Again, in)
}

// known is what the status says of the pod.
func known(entries []v1alpha1.ProblemPod, pod *corev1.Pod) *v1alpha1.ProblemPod {
	i := slices.IndexFunc(entries, func(e v1alpha1.ProblemPod) bool { return e.UID == pod.UID })
	if i < 0 {
		return nil
	}
	return &entries[i]
}

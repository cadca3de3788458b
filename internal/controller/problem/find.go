// Package problem finds the pods of an exporter that do not run as they should,
// whatever is in them, and tells of them: in its status and as Events.
package problem

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// maxListed is how many entries the status lists: with their logs, what an object
// may hold has to last.
const maxListed = 50

// Found are the problem pods of an exporter.
type Found struct {
	// Entries are those of the first pods by name: one for each container that fails,
	// in the order in which they start.
	Entries []v1alpha1.ProblemPod
	// Pods is how many pods do not run, Omitted how many of them have no entry.
	Pods, Omitted int32
	// Again is when time alone may change this; 0 for never.
	Again time.Duration

	// logged are the entries whose containers may have a log.
	logged map[key]bool
}

// A key tells entries apart.
type key struct {
	pod       types.UID
	container string
}

func keyOf(entry *v1alpha1.ProblemPod) key { return key{entry.UID, entry.Container} }

// Find finds those of the pods that have the exporter's labels and do not run as
// they should. What the exporter's status says already it says in the same words.
// Nothing is found where nobody asked for it.
func Find(exporter *v1alpha1.PrometheusJmxExporter, pods []corev1.Pod, now time.Time) Found {
	found := Found{logged: map[key]bool{}}
	if !exporter.Spec.Alerts.CheckRunningPods {
		return found
	}
	for i := range pods {
		pod := &pods[i]
		if !selection.Selects(exporter, pod) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		d := diagnosis{pod: pod, before: saidOf(exporter.Status.ProblemPods, pod), now: now}
		d.look()
		found.Again = enqueue.Earliest(found.Again, d.again)
		if len(d.entries) > 0 {
			found.Pods++
		}
		found.Entries = append(found.Entries, d.entries...)
		for _, container := range d.logged {
			found.logged[key{pod.UID, container}] = true
		}
	}
	slices.SortStableFunc(found.Entries, func(a, b v1alpha1.ProblemPod) int { return strings.Compare(a.Pod, b.Pod) })
	if len(found.Entries) > maxListed {
		found.Entries = slices.Clip(found.Entries[:maxListed])
	}
	found.Omitted = found.Pods - podsOf(found.Entries)
	return found
}

// podsOf counts the pods that the entries are about, which are sorted by pod.
func podsOf(entries []v1alpha1.ProblemPod) (pods int32) {
	for i := range entries {
		if i == 0 || entries[i].UID != entries[i-1].UID {
			pods++
		}
	}
	return pods
}

// saidOf is what the status says of the pod.
func saidOf(entries []v1alpha1.ProblemPod, pod *corev1.Pod) (said []v1alpha1.ProblemPod) {
	for _, e := range entries {
		if e.UID == pod.UID {
			said = append(said, e)
		}
	}
	return said
}

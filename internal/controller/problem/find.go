// Package problem finds selected pods that do not run as they should, whatever runs in
// them, and reports them in the exporter's status and as Events.
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

// maxListed is the maximum number of entries in the status, so that it fits into an
// object even with logs.
const maxListed = 50

// Found are the problem pods of an exporter.
type Found struct {
	// Entries are the entries of the first pods by name: one per failing container, in
	// start order.
	Entries []v1alpha1.ProblemPod
	// Pods is the number of pods that do not run, Omitted the number of those without an
	// entry.
	Pods, Omitted int32
	// Again is the time after which the result may change without an event; 0 for never.
	Again time.Duration

	// logged are the entries whose containers may have a log.
	logged map[key]bool
}

// A key identifies an entry.
type key struct {
	pod       types.UID
	container string
}

func keyOf(entry *v1alpha1.ProblemPod) key { return key{entry.UID, entry.Container} }

// Find returns the pods that match the exporter's selector and do not run as they
// should. It keeps the wording of entries that the status already has. It returns
// nothing if the exporter does not ask for it.
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

// podsOf counts the pods of the entries, which are sorted by pod.
func podsOf(entries []v1alpha1.ProblemPod) (pods int32) {
	for i := range entries {
		if i == 0 || entries[i].UID != entries[i-1].UID {
			pods++
		}
	}
	return pods
}

// saidOf returns the status entries of the pod.
func saidOf(entries []v1alpha1.ProblemPod, pod *corev1.Pod) (said []v1alpha1.ProblemPod) {
	for _, e := range entries {
		if e.UID == pod.UID {
			said = append(said, e)
		}
	}
	return said
}

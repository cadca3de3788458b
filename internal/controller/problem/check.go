package problem

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Logs has logs, or reads them without keeping the caller waiting.
type Logs interface {
	// Ask replaces the runs whose logs an exporter reports, each with the log in its status:
	// if that is empty, it is asked for. It returns the logs that are known, of those that
	// are asked for. Once another one is, the exporter is to be checked again.
	Ask(exporter types.NamespacedName, runs map[podlog.Run]podlog.Log) (known map[podlog.Run]podlog.Log)
}

// Check finds the problem pods of the exporter, like Find, and adds the logs that it
// asks for. It does not wait for logs that are still to be read.
func Check(ctx context.Context, reader client.Reader, logs Logs, exporter *v1alpha1.PrometheusJmxExporter, now time.Time) (Found, error) {
	var pods corev1.PodList
	if exporter.Spec.Alerts.CheckRunningPods {
		if err := reader.List(ctx, &pods, client.InNamespace(exporter.Namespace),
			client.MatchingLabelsSelector{Selector: exporter.Spec.AsSelector()}, client.UnsafeDisableDeepCopy); err != nil {
			return Found{}, err
		}
	}
	found := Find(exporter, pods.Items, now)
	found.addLogs(logs, exporter)
	return found, nil
}

// addLogs adds the logs to the entries. Only logs that the status does not have yet are asked
// for. An entry has none until they are known; after a change of the spec, which may ask for
// other lines, it keeps those that it had.
func (f *Found) addLogs(logs Logs, exporter *v1alpha1.PrometheusJmxExporter) {
	entries := map[podlog.Run]*v1alpha1.ProblemPod{}
	before, asks := map[podlog.Run]podlog.Log{}, map[podlog.Run]podlog.Log{}
	for i := range f.Entries {
		entry := &f.Entries[i]
		if exporter.Spec.Alerts.LogLines == 0 || !f.logged[keyOf(entry)] {
			continue
		}
		run := podlog.Run{
			Pod: types.NamespacedName{Namespace: exporter.Namespace, Name: entry.Pod}, UID: entry.UID,
			Container: entry.Container, Restarts: entry.RestartCount, Lines: exporter.Spec.Alerts.LogLines,
		}
		entries[run], before[run], asks[run] = entry, logIn(exporter.Status.ProblemPods, entry), podlog.Log{}
		if exporter.Status.ObservedGeneration == exporter.Generation {
			asks[run] = before[run]
		}
	}
	known := logs.Ask(client.ObjectKeyFromObject(exporter), asks)
	for run, entry := range entries {
		log, isKnown := known[run]
		if failed := log.Failed; failed || !isKnown {
			log = before[run]
			log.Forbidden = log.Forbidden && !failed // the right was granted since
		}
		entry.Log, entry.PreviousLog = log.Current, log.Previous
		if log.Forbidden {
			entry.Message += needsRight
			f.Again = enqueue.Earliest(f.Again, statemachine.MaxBackoff)
		}
	}
}

// logIn returns the log of an entry in the status. That it is forbidden concerns later runs, too.
func logIn(entries []v1alpha1.ProblemPod, entry *v1alpha1.ProblemPod) (log podlog.Log) {
	for i := range entries {
		before := &entries[i]
		if keyOf(before) != keyOf(entry) {
			continue
		}
		log.Forbidden = strings.HasSuffix(before.Message, needsRight)
		if before.RestartCount == entry.RestartCount {
			log.Current, log.Previous = before.Log, before.PreviousLog
		}
	}
	return log
}

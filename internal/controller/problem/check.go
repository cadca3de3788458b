package problem

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

const (
	// concurrent is the maximum number of logs read at once.
	concurrent = 8
	// allLogs limits the time for reading all logs of a reconcile. Missing ones are read
	// after the next restart.
	allLogs = 20 * time.Second
)

// triesOfLog are the retries of a failed log read: a pod that never restarts gives no
// other occasion.
var triesOfLog = wait.Backoff{Steps: 4, Duration: 500 * time.Millisecond, Factor: 2}

// Check finds the problem pods of the exporter, like Find, and adds the logs that it
// asks for. Only logs that the status does not have yet are read.
func Check(ctx context.Context, reader client.Reader, logs Logs, exporter *v1alpha1.PrometheusJmxExporter, now time.Time) (Found, error) {
	if !exporter.Spec.Alerts.CheckRunningPods {
		return Found{}, nil
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(exporter.Namespace),
		client.MatchingLabelsSelector{Selector: exporter.Spec.AsSelector()}, client.UnsafeDisableDeepCopy); err != nil {
		return Found{}, err
	}
	found := Find(exporter, pods.Items, now)
	if exporter.Spec.Alerts.LogLines > 0 {
		found.read(ctx, logs, exporter)
	}
	return found, nil
}

// read adds the logs to the entries.
func (f *Found) read(ctx context.Context, logs Logs, exporter *v1alpha1.PrometheusJmxExporter) {
	ctx, cancel := context.WithTimeout(ctx, allLogs)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(concurrent)
	for i := range f.Entries {
		entry := &f.Entries[i]
		if !f.logged[keyOf(entry)] {
			continue
		}
		if before := read(exporter, entry); before != nil {
			entry.Log, entry.PreviousLog = before.Log, before.PreviousLog
			continue
		}
		group.Go(func() error {
			add(ctx, logs, exporter, entry)
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	for _, entry := range f.Entries {
		if strings.HasSuffix(entry.Message, needsRight) {
			f.Again = enqueue.Earliest(f.Again, statemachine.MaxBackoff)
		}
	}
}

// read returns the status entry of the container since its last restart, if its logs
// were read.
func read(exporter *v1alpha1.PrometheusJmxExporter, entry *v1alpha1.ProblemPod) *v1alpha1.ProblemPod {
	if exporter.Status.ObservedGeneration != exporter.Generation {
		return nil // other lines may be asked for
	}
	for i := range exporter.Status.ProblemPods {
		before := &exporter.Status.ProblemPods[i]
		if keyOf(before) == keyOf(entry) && before.RestartCount == entry.RestartCount &&
			!strings.HasSuffix(before.Message, needsRight) {
			return before
		}
	}
	return nil
}

// add reads both logs of the entry's container. Logs are optional: a failure affects
// nothing else.
func add(ctx context.Context, logs Logs, exporter *v1alpha1.PrometheusJmxExporter, entry *v1alpha1.ProblemPod) {
	of := func(previous bool) (string, error) {
		pod := types.NamespacedName{Namespace: exporter.Namespace, Name: entry.Pod}
		log, err := readAgain(ctx, func() (string, error) {
			return logs.Tail(ctx, pod, entry.Container, exporter.Spec.Alerts.LogLines, previous)
		})
		return tail(log), err
	}
	var err error
	if entry.Log, err = of(false); err == nil && entry.RestartCount > 0 {
		// While the container waits, both are of the same instance.
		if entry.PreviousLog, err = of(true); entry.PreviousLog == entry.Log {
			entry.PreviousLog = ""
		}
	}
	switch {
	case errors.Is(err, ErrForbidden):
		entry.Message += needsRight
	case err != nil:
		ctrl.LoggerFrom(ctx).V(1).Info("cannot read a log", "pod", entry.Pod, "container", entry.Container, "error", err.Error())
	}
}

// readAgain retries a read as long as it fails for a temporary reason. A missing right
// is handled elsewhere.
func readAgain(ctx context.Context, read func() (string, error)) (log string, err error) {
	failed := wait.ExponentialBackoffWithContext(ctx, triesOfLog, func(context.Context) (done bool, _ error) {
		log, err = read()
		return err == nil || errors.Is(err, ErrForbidden), nil
	})
	if err == nil {
		err = failed // there was no time for a try
	}
	return log, err
}

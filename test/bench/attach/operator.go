//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// counts are what the operator has done so far; sent are bytes on exec streams, which
// pass the API server.
type counts struct{ applies, events, execs, sent float64 }

func (c counts) minus(before counts) counts {
	return counts{c.applies - before.applies, c.events - before.events, c.execs - before.execs, c.sent - before.sent}
}

// countBefore keeps the last run's counts out of this one's.
func countBefore(ctx context.Context, b *bench, _ []corev1.Pod) (err error) {
	b.counted, err = b.count(ctx)
	return err
}

// count asks the operator's own metrics, and lists its Events on pods and their
// records.
func (b *bench) count(ctx context.Context) (c counts, err error) {
	metrics, err := call[string, string](ctx, b.worker, "Get", fmt.Sprintf("http://%s:8080/metrics", b.operatorPod.Status.PodIP))
	if err != nil {
		return c, err
	}
	c.applies, c.execs = effectsOf(metrics, "apply"), effectsOf(metrics, "exec")
	c.sent = sumOf(metrics, `exec_bytes_total{direction="sent"}`)
	var events eventsv1.EventList
	if err := b.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return c, err
	}
	for _, e := range events.Items {
		if e.ReportingController != operatorName || e.Regarding.Kind == "PrometheusJmxExporter" {
			continue
		}
		c.events++
		if e.Series != nil {
			c.events += float64(e.Series.Count - 1)
		}
	}
	return c, nil
}

// effectsOf sums a kind of effects in the operator's metrics, whatever they came to.
func effectsOf(metrics, kind string) (sum float64) {
	return sumOf(metrics, `effects_total{kind="`+kind+`",[^}]*}`)
}

// sumOf sums the series of the operator's metrics that match a pattern.
func sumOf(metrics, pattern string) (sum float64) {
	line := regexp.MustCompile(`(?m)^jmx_exporter_operator_` + pattern + ` (\S+)$`)
	for _, m := range line.FindAllStringSubmatch(metrics, -1) {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			sum += n
		}
	}
	return sum
}

// operate creates an exporter of a transport, and scrapes each pod once it is
// annotated, as Prometheus would.
func operate(by v1alpha1.Transport) func(context.Context, *bench, []corev1.Pod, *result) error {
	return func(ctx context.Context, b *bench, pods []corev1.Pod, r *result) error {
		exporter, err := readExporter()
		if err != nil {
			return err
		}
		exporter.Spec.Transport = by
		return attachBy(ctx, b, exporter, pods, r)
	}
}

func attachBy(ctx context.Context, b *bench, exporter *v1alpha1.PrometheusJmxExporter, pods []corev1.Pod, r *result) error {
	watched, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	group, watched := errgroup.WithContext(watched)
	annotated, err := b.Client.Watch(watched, &corev1.PodList{}, client.InNamespace(namespace), client.MatchingLabels{"app": "dummyapp"})
	if err != nil {
		return err
	}
	defer annotated.Stop()
	progress, err := b.Client.Watch(watched, &v1alpha1.JmxAttachmentList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer progress.Stop()
	if err := b.Client.Create(ctx, exporter); err != nil {
		return err
	}
	group.Go(func() error { return b.scrapeAnnotated(watched, annotated, len(pods)) })
	group.Go(func() (err error) {
		r.granted, err = timeGranted(watched, progress, len(pods))
		return err
	})
	return group.Wait()
}

// countAfter counts what the operator did, and takes the exporter away when the pods
// are gone: to detach from them is not what is measured.
func countAfter(ctx context.Context, b *bench, r *result) error {
	after, err := b.count(ctx)
	if err != nil {
		return err
	}
	r.counts = after.minus(b.counted)
	if _, err := b.scale(ctx, 0); err != nil {
		return err
	}
	exporter, err := readExporter()
	if err != nil {
		return err
	}
	if err := b.Client.Delete(ctx, exporter); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		var attachments v1alpha1.JmxAttachmentList
		err := b.Client.List(ctx, &attachments, client.InNamespace(namespace))
		if err == nil && len(attachments.Items) > 0 {
			err = fmt.Errorf("%d attachments are still there", len(attachments.Items))
		}
		return err
	})
}

func readExporter() (*v1alpha1.PrometheusJmxExporter, error) {
	content, err := os.ReadFile("test/bench/attach/exporter.yaml")
	if err != nil {
		return nil, err
	}
	exporter := &v1alpha1.PrometheusJmxExporter{}
	return exporter, yaml.UnmarshalStrict(content, exporter)
}

// scrapeAnnotated scrapes each pod when it gets its annotations.
func (b *bench) scrapeAnnotated(ctx context.Context, pods watch.Interface, count int) error {
	var scrapes errgroup.Group
	seen := map[string]bool{}
	for len(seen) < count {
		object, err := next(ctx, pods)
		if err != nil {
			return err
		}
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Annotations[v1alpha1.AnnotationScrape] != "true" || seen[pod.Name] {
			continue
		}
		seen[pod.Name] = true
		scrapes.Go(func() error { return b.scrape(ctx, *pod) })
	}
	return scrapes.Wait()
}

// timeGranted is how long the slowest pod took from when the rollout granted it until
// it was Annotated, as a watch sees both.
func timeGranted(ctx context.Context, attachments watch.Interface, count int) (slowest time.Duration, err error) {
	granted, done := map[string]time.Time{}, map[string]bool{}
	for len(done) < count {
		object, err := next(ctx, attachments)
		if err != nil {
			return 0, err
		}
		a, ok := object.(*v1alpha1.JmxAttachment)
		if !ok || a.Spec.Revision == "" {
			continue
		}
		since, known := granted[a.Name]
		if !known {
			since = time.Now()
			granted[a.Name] = since
		}
		if a.Status.Phase == v1alpha1.PhaseAnnotated && !done[a.Name] {
			done[a.Name] = true
			slowest = max(slowest, time.Since(since))
		}
	}
	return slowest, nil
}

// next is the next object that a watch sees.
func next(ctx context.Context, w watch.Interface) (any, error) {
	select {
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), errors.New("not all pods were annotated"))
	case event, open := <-w.ResultChan():
		if !open || event.Type == watch.Error {
			return nil, fmt.Errorf("a watch ended: %v", event.Object)
		}
		return event.Object, nil
	}
}

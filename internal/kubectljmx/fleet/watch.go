package fleet

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// settle is how long changes are gathered before they are shown: a rollout makes many at once.
const settle = 500 * time.Millisecond

// Watch shows the exporters, and again whenever something changes, until the context ends.
// Whoever ends it expects the error that follows from that.
func Watch(ctx context.Context, c *cluster.Cluster, clock clock.Clock, namespace, name string, show func([]Exporter) error) error {
	for {
		fleet, read, err := read(ctx, c, namespace, name)
		if err != nil {
			return err
		}
		if err := show(fleet); err != nil {
			return err
		}
		if err := changed(ctx, c, namespace, read); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clock.After(settle):
		}
	}
}

// changed returns when something is newer than what was read, when the API server ends a
// watch, or with the context.
func changed(ctx context.Context, c *cluster.Cluster, namespace string, read versions) error {
	exporters, err := from(ctx, c, &v1alpha1.PrometheusJmxExporterList{}, namespace, read.exporters)
	if err != nil {
		return err
	}
	defer exporters.Stop()
	attachments, err := from(ctx, c, &v1alpha1.JmxAttachmentList{}, namespace, read.attachments)
	if err != nil {
		return err
	}
	defer attachments.Stop()
	select {
	case <-ctx.Done():
	case <-exporters.ResultChan():
	case <-attachments.ResultChan():
	}
	return nil
}

func from(ctx context.Context, c *cluster.Cluster, list client.ObjectList, namespace, version string) (watch.Interface, error) {
	options := &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: version}}
	w, err := c.Watch(ctx, list, options)
	return w, cluster.Explain(err)
}

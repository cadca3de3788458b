package metrics

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// leader is what the elected replica of a shard has in its cache, and empty until it is
// elected: a replica that waits has no cache of pods, the largest of all, and a read would
// start it.
type leader struct {
	client.Reader
	shard   shard.Shard
	elected <-chan struct{}
}

// List implements client.Reader.
func (l leader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	select {
	case <-l.elected:
	default:
		return nil
	}
	err := l.Reader.List(ctx, list, options...)
	switch list := list.(type) { // the kinds that are counted
	case *v1alpha1.JmxAttachmentList:
		list.Items = slices.DeleteFunc(list.Items, func(a v1alpha1.JmxAttachment) bool { return !l.shard.Owns(a.Namespace) })
	case *v1alpha1.PrometheusJmxExporterList:
		list.Items = slices.DeleteFunc(list.Items, func(e v1alpha1.PrometheusJmxExporter) bool { return !l.shard.Owns(e.Namespace) })
	}
	return err
}

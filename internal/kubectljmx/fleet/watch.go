package fleet

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// settle is how long changes are gathered before they are shown: a rollout makes many at once.
const settle = 500 * time.Millisecond

// Watch shows the exporters, and again whenever something changes, until the context ends.
// Its informers reconnect after a failure, which is reported to failed; only the first
// request, or the lack of a right, ends it with an error.
func Watch(ctx context.Context, c *cluster.Cluster, clock clock.Clock, namespace, name string, show func([]Exporter) error, failed func(error)) error {
	if _, err := Status(ctx, c, namespace, name); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	cached, changes, err := watched(ctx, c, namespace, func(_ context.Context, _ *toolscache.Reflector, err error) {
		switch {
		case apierrors.IsForbidden(err):
			end(cluster.Explain(err))
		case !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err): // as watches end
			failed(err)
		}
	})
	for err == nil {
		var fleet []Exporter
		if fleet, err = Status(ctx, cached, namespace, name); err == nil {
			err = show(fleet)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changes:
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-clock.After(settle):
		}
	}
	return err
}

// watched returns the cluster as informers know it, and a channel of its changes.
func watched(ctx context.Context, c *cluster.Cluster, namespace string, failed toolscache.WatchErrorHandlerWithContext) (*cluster.Cluster, <-chan struct{}, error) {
	options := cache.Options{
		Scheme: c.Scheme(), Mapper: c.RESTMapper(), DefaultTransform: cache.TransformStripManagedFields(), DefaultWatchErrorHandler: failed,
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	informers, err := cache.New(c.Config, options)
	if err != nil {
		return nil, nil, err
	}
	reader, err := client.NewWithWatch(c.Config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper(), Cache: &client.CacheOptions{Reader: informers}})
	if err != nil {
		return nil, nil, err
	}
	go func() { _ = informers.Start(ctx) }() // with the context, it ends without an error
	changes := make(chan struct{}, 1)
	for _, kind := range []client.Object{&v1alpha1.PrometheusJmxExporter{}, &v1alpha1.JmxAttachment{}} {
		if err := notify(ctx, informers, kind, changes); err != nil {
			return nil, nil, err
		}
	}
	cached := *c
	cached.WithWatch = reader
	return &cached, changes, nil
}

// notify sends to changes whenever an object of a kind changes, once those that exist are known.
func notify(ctx context.Context, informers cache.Informers, kind client.Object, changes chan<- struct{}) error {
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	changed := func() {
		select {
		case changes <- struct{}{}:
		default: // one is enough
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initially bool) {
			if !initially {
				changed()
			}
		},
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-registration.HasSyncedChecker().Done():
		return nil
	}
}

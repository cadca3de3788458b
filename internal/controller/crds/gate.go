package crds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// Gate holds all requests while the installed CustomResourceDefinitions are outdated, and those of a
// namespace while an exporter in it has a spec that the operator does not know in full: which pods
// are its is unknown then, and whether to attach to them. It drops the requests of other shards.
type Gate struct {
	*Definitions
	// Shard is the operator's share of the namespaces.
	Shard shard.Shard
	// Reader reads exporters from the cache, which KeepUnknown has transformed.
	Reader client.Reader
}

var _ enqueue.Gate = &Gate{}

// How long a request is held before the Gate is asked again: for definitions that are about to be
// read, and for what a person has to mend.
const (
	soon  = 100 * time.Millisecond
	later = 10 * time.Second
)

// Owns implements enqueue.Gate.
func (g *Gate) Owns(namespace string) bool { return g.Shard.Owns(namespace) }

// Hold implements enqueue.Gate.
func (g *Gate) Hold(ctx context.Context, namespace string) (*enqueue.Hold, error) {
	if err := g.Unread(); err != nil {
		return &enqueue.Hold{RetryAfter: retryAfter(err)}, nil // readiness reports it
	}
	if outdated := g.Outdated(); outdated != "" {
		return &enqueue.Hold{Reason: v1alpha1.ReasonCustomResourceDefinitionsOutdated, Message: outdated, Drops: g.missingOf(exporters), RetryAfter: later}, nil
	}
	var list v1alpha1.PrometheusJmxExporterList
	if err := g.Reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if why := g.unknown(&list.Items[i]); why != "" {
			return &enqueue.Hold{Reason: v1alpha1.ReasonSpecUnknown, Message: why, RetryAfter: later}, nil
		}
	}
	return nil, nil
}

// retryAfter returns how long a request is held while the definitions are not read.
func retryAfter(unread error) time.Duration {
	if errors.Is(unread, errUnread) {
		return soon
	}
	return later
}

// OnChange implements enqueue.Gate.
func (g *Gate) OnChange(notify func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changed = append(g.changed, notify)
}

// Check implements healthz.Checker. An operator that is not ready keeps a rolling update from
// ending the one before, which may know the installed definitions. An exporter is no reason: a user
// would decide about the operator.
func (g *Gate) Check(*http.Request) error {
	if outdated := g.Outdated(); outdated != "" {
		return fmt.Errorf("%s", outdated)
	}
	return g.Unread()
}

// unknown returns what of an exporter's spec is unknown, and what to do; empty for nothing.
func (g *Gate) unknown(exporter *v1alpha1.PrometheusJmxExporter) string {
	if exporter.Spec.Raw == nil || !exporter.DeletionTimestamp.IsZero() {
		return ""
	}
	const kept = " Nothing is attached, changed or detached in this namespace; existing endpoints keep serving."
	newer := g.installedSchema(exporters)
	if fields := unsupported(decoded(exporter.Spec.Raw), property(g.built[exporters], "spec"), property(newer, "spec"), "spec"); len(fields) > 0 {
		return fmt.Sprintf("Exporter %s has fields or values that this release of the operator does not know: %s.%s Upgrade the operator, or remove them from the exporter.", exporter.Name, firstFew(fields), kept)
	}
	if !selects(exporter) {
		return fmt.Sprintf("Exporter %s has no valid selector, which an older CustomResourceDefinition may have dropped.%s Apply the exporter again.", exporter.Name, kept)
	}
	return ""
}

// selects reports whether the exporter has a selector that the API would accept.
func selects(exporter *v1alpha1.PrometheusJmxExporter) bool {
	_, selectable := exporter.Spec.AsSelector().Requirements()
	return selectable
}

// KeepUnknown returns a transformation of the cache. It sets Raw of the spec of exporters that Hold
// has to look at, and of no others.
func (d *Definitions) KeepUnknown() func(any) (any, error) {
	return func(object any) (any, error) {
		exporter, ok := object.(*v1alpha1.PrometheusJmxExporter)
		if !ok { // a tombstone
			return object, nil
		}
		trim(exporter)
		if exporter.Spec.Raw != nil { // it has fields that the type does not have
			return exporter, nil
		}
		raw, err := json.Marshal(exporter.Spec)
		if err != nil {
			return nil, err
		}
		if len(unsupported(decoded(raw), property(d.built[exporters], "spec"), nil, "spec")) > 0 || !selects(exporter) {
			exporter.Spec.Raw = raw
		}
		return exporter, nil
	}
}

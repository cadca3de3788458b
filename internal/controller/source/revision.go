package source

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// revisionData is the data of a ControllerRevision: the content of a ConfigMap, and nothing of
// the exporter's Secret, since many who may not read Secrets may read ControllerRevisions.
type revisionData struct {
	// Configuration is in base64: escaped, the largest one would be more than etcd takes.
	Configuration []byte `json:"configuration"`
}

// RevisionData returns the data of the ControllerRevision that keeps a configuration.
func RevisionData(config []byte) runtime.RawExtension {
	raw, err := json.Marshal(revisionData{config})
	if err != nil { // bytes always marshal
		panic(err)
	}
	return runtime.RawExtension{Raw: raw}
}

const (
	// readTimeout limits one read of a ConfigMap or ControllerRevision.
	readTimeout = 10 * time.Second
	// RetryKept is the time after which a ControllerRevision is read again that could not be
	// read, or was not there.
	RetryKept = time.Minute
)

// revisions reads ControllerRevisions, and remembers what it read: what is kept of a revision
// never changes.
type revisions struct {
	live  client.Reader
	clock clock.PassiveClock
	// reads are the reads that are under way: all pods of an exporter ask at once.
	reads singleflight.Group
	known sync.Map // of keptRevision, by revisionKey
}

// revisionKey identifies the ControllerRevision of an exporter.
type revisionKey struct {
	exporter types.NamespacedName
	name     string
}

// keptRevision is the result of a read.
type keptRevision struct {
	// config is the configuration; nil if none is kept, until a time.
	config *transport.Blob
	// err is why it could not be read, until a time.
	err   error
	until time.Time
}

// configuration returns the configuration that a ControllerRevision keeps; nil if there is
// none. It is read once for all pods that ask.
func (r *revisions) configuration(ctx context.Context, key revisionKey) (*transport.Blob, error) {
	read, _, _ := r.reads.Do(key.exporter.String()+" "+key.name, func() (any, error) {
		if known, ok := r.known.Load(key); ok {
			if known := known.(keptRevision); known.config != nil || r.clock.Now().Before(known.until) {
				return known, nil
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout) // others wait for it, too
		defer cancel()
		read := r.read(ctx, client.ObjectKey{Namespace: key.exporter.Namespace, Name: key.name})
		r.known.Store(key, read)
		return read, nil
	})
	kept := read.(keptRevision)
	return kept.config, kept.err
}

func (r *revisions) read(ctx context.Context, at client.ObjectKey) keptRevision {
	kept := keptRevision{until: r.clock.Now().Add(RetryKept)}
	var live appsv1.ControllerRevision
	switch err := r.live.Get(ctx, at, &live); {
	case err == nil:
		kept.config = configurationOf(&live)
	case !apierrors.IsNotFound(err):
		kept.err = fmt.Errorf("cannot read ControllerRevision %s: %w", at.Name, err)
	}
	return kept
}

// configurationOf returns the configuration that a ControllerRevision keeps; nil if it keeps
// none that this operator accepts.
func configurationOf(revision *appsv1.ControllerRevision) *transport.Blob {
	var data revisionData
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return nil
	}
	if _, err := configuration.Validate(data.Configuration); err != nil {
		return nil
	}
	return new(configBlob(data.Configuration))
}

// forget drops what was read for an exporter.
func (r *revisions) forget(exporter types.NamespacedName) {
	r.known.Range(func(key, _ any) bool {
		if key.(revisionKey).exporter == exporter {
			r.known.Delete(key)
		}
		return true
	})
}

func configBlob(content []byte) transport.Blob {
	return transport.NewBlob("config-", content, ".yaml")
}

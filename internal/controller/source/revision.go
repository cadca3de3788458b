package source

import (
	"context"
	"encoding/json"
	"errors"
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

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// revisionData is the data of a ControllerRevision: the content of a ConfigMap, and what else
// may be invalid later, but nothing of the exporter's Secret, since many who may not read
// Secrets may read ControllerRevisions.
type revisionData struct {
	// Configuration is in base64: escaped, the largest one would be more than etcd takes.
	Configuration []byte `json:"configuration"`
	// Processes are the rules of spec.processes; none in a ControllerRevision of an older
	// operator.
	Processes []v1alpha1.ProcessRule `json:"processes,omitempty"`
}

// RevisionData returns the data of the ControllerRevision that keeps a configuration of an
// exporter.
func RevisionData(exporter *v1alpha1.PrometheusJmxExporter, config []byte) runtime.RawExtension {
	raw, err := json.Marshal(revisionData{config, exporter.Spec.Processes})
	if err != nil { // bytes and strings always marshal
		panic(err)
	}
	return runtime.RawExtension{Raw: raw}
}

// kindRevision is the kind of the objects that keep configurations.
const kindRevision = "ControllerRevision"

// RetryKept is the time after which a ControllerRevision is read again that could not be read,
// or was not there.
const RetryKept = time.Minute

// revisions reads ControllerRevisions, and remembers digests of what it read: what is kept of a
// revision never changes.
type revisions struct {
	live  client.Reader
	clock clock.PassiveClock
	files *files
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
	// config is the configuration, whose content Load reads; nil if none is kept, until a time.
	config *transport.Blob
	// processes are the rules of spec.processes that were used with it.
	processes []v1alpha1.ProcessRule
	// err is why it could not be read, until a time.
	err   error
	until time.Time
}

// kept returns what a ControllerRevision keeps. It is read once for all pods that ask.
func (r *revisions) kept(ctx context.Context, key revisionKey) keptRevision {
	read, _, _ := r.reads.Do(key.exporter.String()+" "+key.name, func() (any, error) {
		if known, ok := r.known.Load(key); ok {
			if known := known.(keptRevision); known.config != nil || r.clock.Now().Before(known.until) {
				return known, nil
			}
		}
		read := r.read(ctx, client.ObjectKey{Namespace: key.exporter.Namespace, Name: key.name})
		if read.config != nil {
			read.config.Load = r.forgetsChanged(key, read.config.Load)
		}
		r.known.Store(key, read)
		return read, nil
	})
	return read.(keptRevision)
}

// forgetsChanged returns a function that loads a content, and forgets the ControllerRevision if
// it no longer has it: it may be deleted meanwhile.
func (r *revisions) forgetsChanged(key revisionKey, load func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		content, err := load(ctx)
		if _, changed := errors.AsType[*transport.Error](err); changed {
			r.known.Delete(key)
		}
		return content, err
	}
}

func (r *revisions) read(ctx context.Context, at client.ObjectKey) keptRevision {
	read := keptRevision{until: r.clock.Now().Add(RetryKept)}
	config, processes, err := r.get(ctx, at)
	switch {
	case err != nil:
		read.err = err
	case config.Problem == nil:
		config = r.files.keep(at.Namespace, config)
		config.Load = r.files.loader(at.Namespace, kindRevision+" "+at.Name, config.File, func(ctx context.Context) (steps.Input, error) {
			config, _, err := r.get(ctx, at)
			return config, err
		})
		read.config, read.processes = &config.Blob, processes
	}
	return read
}

// get returns the configuration and the rules that a ControllerRevision keeps, or a problem if
// it keeps none that this operator accepts.
func (r *revisions) get(ctx context.Context, at client.ObjectKey) (config steps.Input, processes []v1alpha1.ProcessRule, err error) {
	config.Problem = &steps.Problem{}
	err = r.files.read(ctx, at.Namespace, func(ctx context.Context) error {
		var live appsv1.ControllerRevision
		if err := r.live.Get(ctx, at, &live); err != nil {
			return err
		}
		var data revisionData
		if err := json.Unmarshal(live.Data.Raw, &data); err != nil {
			return nil //nolint:nilerr // somebody else wrote it
		}
		if _, err := configuration.Validate(data.Configuration); err != nil {
			return nil //nolint:nilerr // an operator accepted it that is not this one
		}
		if steps.ProcessRulesProblem(&v1alpha1.PrometheusJmxExporter{Spec: v1alpha1.PrometheusJmxExporterSpec{Processes: data.Processes}}) != nil {
			return nil
		}
		config, processes = steps.Input{Blob: configBlob(data.Configuration)}, data.Processes
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return config, nil, fmt.Errorf("cannot read %s %s: %w", kindRevision, at.Name, err)
	}
	return config, processes, nil
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

package exporter

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// keepings remember the ControllerRevisions of each exporter. They are neither watched nor
// cached: an operator without that right, such as one with the role of an older release in a
// namespace, has to work.
type keepings struct{ of sync.Map } // of *keeping, by exporter

// keeping is what is known of the ControllerRevisions of one exporter. It belongs to the
// reconcile of the exporter.
type keeping struct {
	exporter types.UID
	// names are those that may be there; true for those that are known to be.
	names map[string]bool
	// writes and deletes have a pace each: what cannot be deleted delays no write.
	writes, deletes attempts
}

// failure is what could not be done, and why; empty for nothing.
func (k *keeping) failure() string { return cmp.Or(k.writes.failure, k.deletes.failure) }

// attempts are those to write, or to delete, ControllerRevisions.
type attempts struct {
	// reason is that of a failure, and preface what its message begins with.
	reason, preface string
	// failure is what the last attempt could not do, and why; empty for nothing. The next
	// attempt follows at a time.
	failure string
	failed  int32
	next    time.Time
}

// get returns what is known for an exporter; at first, that there may be one of each revision
// that its records and its status have.
func (s *keepings) get(exporter *v1alpha1.PrometheusJmxExporter, granted sets.Set[string]) *keeping {
	key := client.ObjectKeyFromObject(exporter)
	if known, ok := s.of.Load(key); ok && known.(*keeping).exporter == exporter.UID {
		return known.(*keeping)
	}
	k := &keeping{
		exporter: exporter.UID, names: map[string]bool{},
		writes:  attempts{reason: v1alpha1.ReasonConfigNotKept, preface: "The configuration is not kept in a ControllerRevision; a container that restarts while the ConfigMap is invalid will have no metrics: "},
		deletes: attempts{reason: v1alpha1.ReasonRevisionsNotDeleted, preface: "Unused "},
	}
	for revision := range granted.Clone().Insert(exporter.Status.Revision) {
		if revision != "" {
			k.names[selection.RevisionName(exporter, revision)] = false
		}
	}
	s.of.Store(key, k)
	return k
}

func (s *keepings) forget(exporter types.NamespacedName) { s.of.Delete(exporter) }

package exporter

import (
	"k8s.io/apimachinery/pkg/util/sets"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// revisionLimit is the number of configurations that are kept for an exporter besides the
// current one: that of revisionHistoryLimit of a StatefulSet, by default.
const revisionLimit = 10

// revisionPlan is which ControllerRevisions should be there.
type revisionPlan struct {
	// keep reports whether to write the current one: it is needed, and not known to be there.
	keep bool
	// current is the name of that of the current revision, and used are the names of all that
	// may be needed.
	current string
	used    sets.Set[string]
	// prune reports whether there may be others, or too many.
	prune bool
}

// planRevisions plans for the revisions that the records have, or are about to. The
// configuration that is being rolled out is kept before the first pod gets it, for containers
// that restart while the exporter's is invalid, or another one is being rolled out.
func (f *fleet) planRevisions(granted sets.Set[string]) revisionPlan {
	p := revisionPlan{current: selection.RevisionName(f.exporter, f.rollout.revision), used: sets.New[string]()}
	for revision := range granted {
		p.used.Insert(selection.RevisionName(f.exporter, revision))
	}
	p.keep = p.used.Has(p.current) && f.inputs.Problem() == nil && !f.kept[p.current]
	p.used.Insert(p.current) // the next pod may have it soon
	// A record that the cache lacks may have what seems to be unused.
	p.prune = !f.recordsBehind && (len(f.kept) > revisionLimit+1 || !p.used.IsSuperset(sets.KeySet(f.kept)))
	return p
}

func (f *fleet) revisionConfiguration(name string, config []byte) *appsv1ac.ControllerRevisionApplyConfiguration {
	return appsv1ac.ControllerRevision(name, f.exporter.Namespace).
		WithLabels(serviceLabels(f.exporter)).
		WithOwnerReferences(ownedBy(f.exporter)).
		WithRevision(0). // their order is that of their creation
		WithData(source.RevisionData(f.exporter, config))
}

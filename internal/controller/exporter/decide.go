package exporter

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// plan is what a reconcile writes, apart from the status that sums it up.
type plan struct {
	// service is the Service to apply; nil if it is as it should be, or not needed.
	service *corev1ac.ServiceApplyConfiguration
	// slices are the EndpointSlices, including those that stay as they are.
	slices []slice
	// revisions are the ControllerRevisions that should be there.
	revisions revisionPlan
	// obstacle is why no endpoint is published; nil for nothing.
	obstacle error
	// records are the records to write, in order.
	records []grant
	// again is the time after which to decide again without an event; 0 for never.
	again time.Duration
}

// grant is a record to write, with the revision that the rollout grants to its pod.
type grant struct {
	member
	revision string
}

// decide is a pure function of the fleet.
func (f *fleet) decide() plan {
	var p plan
	if f.recordsBehind || f.endpointsBehind {
		p.again = recheck
	}
	switch {
	case f.endpointsBehind:
	case f.unread != nil:
		p.obstacle = f.unread
	case f.publishes():
		f.planService(&p)
	}
	if !f.recordsBehind {
		f.planRecords(&p)
	}
	p.again = enqueue.Earliest(p.again, f.rollout.restartsChangeAfter())
	granted := f.granted.Clone()
	for _, g := range p.records {
		granted.Insert(g.revision)
	}
	p.revisions = f.planRevisions(granted)
	return p
}

// planService states the headless Service and its EndpointSlices. A Service of that name
// that does not belong to the exporter is not changed, and no slices are made for it.
func (f *fleet) planService(p *plan) {
	was, name := f.service, selection.ServiceName(f.exporter)
	switch {
	case was == nil:
		p.service = serviceConfiguration(f.exporter)
	case !metav1.IsControlledBy(was, f.exporter):
		p.obstacle = fmt.Errorf("service %s is not controlled by this exporter; no endpoint is published. Delete or rename it", name)
		return
	case len(was.Spec.Ports) != 1 || was.Spec.Ports[0].Port != servicePort(f.exporter) || was.Spec.Ports[0].Name != portName ||
		!labels.SelectorFromSet(serviceLabels(f.exporter)).Matches(labels.Set(was.Labels)):
		p.service = serviceConfiguration(f.exporter).WithUID(was.UID)
	}
	p.slices = planSlices(name, f.slices, f.endpoints())
}

// planRecords grants the revision to pods whose turn has come, creates missing records,
// takes over records of pods that belonged to another exporter, and withdraws the grant of
// pods that came back.
func (f *fleet) planRecords(p *plan) {
	var due []member
	if !f.exporter.Spec.Suspend && !f.preflighting() {
		var again time.Duration
		due, again = f.rollout.grants(f.members, f.inputs.Problem() != nil)
		p.again = enqueue.Earliest(p.again, again)
	}
	granted := sets.New[types.UID]()
	for _, m := range due {
		granted.Insert(m.pod.UID)
	}
	for _, m := range due {
		p.records = append(p.records, grant{m, f.rollout.revision})
	}
	for _, m := range f.members {
		switch {
		case granted.Has(m.pod.UID):
		case m.attachment == nil, m.cameBack():
			p.records = append(p.records, grant{m, ""})
		case m.attachment.Spec.Exporter.UID != f.exporter.UID:
			p.records = append(p.records, grant{m, m.attachment.Spec.Revision})
		}
	}
}

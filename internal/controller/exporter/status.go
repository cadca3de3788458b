package exporter

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// maxListed is the maximum number of endpoints in the status; the EndpointSlices list
// all.
const maxListed = 1000

// status returns the status of the exporter.
func (f sum) status() *v1alpha1.PrometheusJmxExporterStatus {
	status := &v1alpha1.PrometheusJmxExporterStatus{
		ObservedGeneration: f.exporter.Generation,
		Matched:            int32(f.matched()),
		Refused:            int32(len(f.claimed)),
		ServiceName:        selection.ServiceName(f.exporter),
		Phase:              f.phase(),
		Phases:             f.phases(),
		Revision:           f.rollout.revision,
		Halt:               f.rollout.halt,
		Restarts:           f.rollout.restarts,
		Preflight:          f.preflight(),
		AtNextStart:        f.nextStart(),
		ProblemPodCount:    f.problems.Pods,
		ProblemPods:        f.problems.Entries,
		ProblemPodsOmitted: f.problems.Omitted,
	}
	status.CertificateNotAfter = f.certificateNotAfter()
	for _, m := range f.members {
		if m.refused() {
			status.Refused++
		}
		if f.rollout.updated(m) {
			status.Updated++
		}
		for _, e := range m.exposed() {
			if len(status.MetricsEndpoints) == maxListed {
				status.MetricsEndpointsOmitted++
				continue
			}
			status.MetricsEndpoints = append(status.MetricsEndpoints, e)
		}
	}
	if f.preflighting() && len(status.MetricsEndpoints) == 0 { // there may be none
		status.ServiceName = ""
	}
	status.Pods = fmt.Sprintf("%d/%d", f.count(v1alpha1.PhaseAnnotated), status.Matched)

	status.Conditions = append([]metav1.Condition(nil), f.exporter.Status.Conditions...)
	if !f.preflighting() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionPreflightComplete)
	}
	conditions := f.conditions(status)
	for _, n := range notices {
		if c := n.condition(f.fleet); c != nil {
			conditions = append(conditions, *c)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, n.kind)
		}
	}
	for _, c := range conditions {
		c.ObservedGeneration = f.exporter.Generation
		c.LastTransitionTime = f.now
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

package exporter

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// noticed is a condition that sums up that of the records.
type noticed struct{ kind, reason, sentence string }

var notices = []noticed{
	{v1alpha1.ConditionScrapeIncomplete, v1alpha1.ReasonPodsIncomplete, "The scrapes of %d of %d pods are incomplete: %s. Their JmxAttachments say what to do."},
	{v1alpha1.ConditionScrapeExpensive, v1alpha1.ReasonPodsExpensive, "The scrapes of %d of %d pods are expensive: %s. Their JmxAttachments say what to do."},
}

// condition returns the sum of the pods' conditions; nil if none is True.
func (n noticed) condition(f *fleet) *metav1.Condition {
	var pods []string
	for _, m := range f.members {
		if m.attachment == nil {
			continue
		}
		if c := meta.FindStatusCondition(m.attachment.Status.Conditions, n.kind); c != nil && c.Status == metav1.ConditionTrue {
			pods = append(pods, m.pod.Name+": "+c.Reason)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	summed := condition(n.kind, true, n.reason, fmt.Sprintf(n.sentence, len(pods), f.matched(), firstFew(pods)))
	return &summed
}

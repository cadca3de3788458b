package attachment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// recordConditions records Events: on the pod what was done to its JVM, and on the record
// each failure. That the pod is Annotated is in its conditions, and the exporter has an Event
// once all are: an Event for each pod would be a tenth of all requests.
func (v *visit) recordConditions(ctx context.Context, changed []metav1.Condition) {
	log := ctrl.LoggerFrom(ctx)
	for _, c := range changed {
		switch {
		case c.Type == v1alpha1.ConditionReady:
		case slices.Contains(record.NoticeConditions, c.Type):
			log.Info("agent reports", "condition", c.Type, "reason", c.Reason)
			v.Recorder.Eventf(v.Attachment, v.Pod, corev1.EventTypeWarning, c.Reason, c.Type, "%s", text.Note(c.Message))
		case c.Status == metav1.ConditionTrue:
			log.Info("phase reached", "phase", c.Type)
			if c.Type == string(v1alpha1.PhaseLoaded) {
				v.Recorder.Eventf(v.Pod, v.Attachment, corev1.EventTypeNormal, c.Type, "Attach", "%s", text.Note(fmt.Sprintf("Attached by %s. %s", v.origin(), c.Message)))
			}
		case c.Status == metav1.ConditionFalse:
			log.Info("phase failed", "phase", c.Type, "reason", c.Reason)
			v.Recorder.Eventf(v.Attachment, v.Pod, corev1.EventTypeWarning, c.Reason, c.Type, "%s", text.Note(c.Message))
		}
	}
}

// recordRegress records that a phase no longer holds. An update has an Event once it is
// loaded; another one for each pod would be a fifth of its requests.
func (v *visit) recordRegress(ctx context.Context, phase statemachine.Phase, cause *steps.Cause) {
	ctrl.LoggerFrom(ctx).Info("phase lost", "phase", phase, "reason", cause.Reason)
	if cause.Update {
		return
	}
	v.lost = true
	v.Recorder.Eventf(v.Attachment, v.Pod, corev1.EventTypeNormal, cause.Reason, string(phase), "%s", cause.Message)
}

// recordNotWithdrawn records that the operator's annotations could not be removed
// from a pod.
func (v *visit) recordNotWithdrawn(err error) {
	v.Recorder.Eventf(v.Attachment, v.Pod, corev1.EventTypeWarning, v1alpha1.ReasonAnnotationRefused, "Withdraw",
		"The pod's annotations cannot be removed: %s.", text.Denial(err))
}

// recordDetached records that the agents in the pod were stopped.
func (v *visit) recordDetached(places []string) {
	if len(places) > 0 {
		v.Recorder.Eventf(v.Pod, v.Attachment, corev1.EventTypeNormal, "Detached", "Detach",
			"%s", text.Note(fmt.Sprintf("Detached for %s; the agent in %s is stopped.", v.origin(), strings.Join(places, ", "))))
	}
}

// origin names the exporter on whose behalf the pod is visited and, if known, the user
// who wrote its spec.
func (v *visit) origin() string {
	origin := "exporter " + v.Attachment.Spec.Exporter.Name
	if requester := steps.RequesterName(v.Exporter); requester != "" {
		origin += fmt.Sprintf(" of requester %q", text.Line(requester, 256))
	}
	return origin
}

// recordLeft records what remains in a pod whose detach timed out, and returns it. It remains for
// good unless a record is left, by which the operator tries again.
func (v *visit) recordLeft(agents []*v1alpha1.JavaProcess, failure error, triesAgain bool) string {
	left := "effects that could not be undone stay in the pod"
	switch {
	case len(agents) > 0 && triesAgain:
		left = fmt.Sprintf("the agent in %s is still loaded, and the operator tries again every %s", places(agents), statemachine.MaxBackoff)
	case len(agents) > 0:
		left = fmt.Sprintf("the agent in %s stays loaded until its JVM exits", places(agents))
	}
	message := fmt.Sprintf("Detach timed out after %s; %s: %s.", v.Status().DetachTimeout.Duration, left, text.Line(failure.Error(), 600))
	v.Recorder.Eventf(v.Pod, v.Attachment, corev1.EventTypeWarning, "AgentLeft", "Detach", "%s", text.Note(message))
	return message
}

func places(agents []*v1alpha1.JavaProcess) string {
	var places []string
	for _, p := range agents {
		places = append(places, steps.Place(p))
	}
	return strings.Join(places, ", ")
}

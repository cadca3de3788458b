package attachment

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// announce tells that a phase was reached or could not be, as an Event on the
// record, related to the pod.
func (w *walk) announce(ctx context.Context, step steps.Step, outcome steps.Outcome) {
	log := ctrl.LoggerFrom(ctx)
	switch outcome.Kind {
	case steps.Done:
		log.Info("phase reached", "phase", step.Phase())
		w.Recorder.Eventf(w.scope.Attachment, w.scope.Pod, corev1.EventTypeNormal, string(step.Phase()), string(step.Phase()), "%s", outcome.Message)
	case steps.Retry, steps.Stop:
		log.Info("phase not reached", "phase", step.Phase(), "reason", outcome.Reason, "error", outcome.Err)
		w.Recorder.Eventf(w.scope.Attachment, w.scope.Pod, corev1.EventTypeWarning, outcome.Reason, string(step.Phase()), "%s", outcome.Message)
	case steps.Wait:
		log.V(1).Info("phase awaited", "phase", step.Phase(), "reason", outcome.Reason)
	}
}

// tellLost tells that a phase no longer holds.
func (w *walk) tellLost(ctx context.Context, step steps.Step, why steps.Outcome) {
	ctrl.LoggerFrom(ctx).Info("phase lost", "phase", step.Phase(), "reason", why.Reason)
	w.Recorder.Eventf(w.scope.Attachment, w.scope.Pod, corev1.EventTypeNormal, why.Reason, string(step.Phase()), "%s", why.Message)
}

// tellNotWithdrawn tells that annotations of ours could not be taken off a pod.
func (r *Reconciler) tellNotWithdrawn(attachment *v1alpha1.JmxAttachment, pod *corev1.Pod, err error) {
	r.Recorder.Eventf(attachment, pod, corev1.EventTypeWarning, v1alpha1.ReasonAnnotationRefused, "Withdraw",
		"The annotations of the pod cannot be withdrawn: %s.", text.Denial(err))
}

// tellDetached tells that the agents in a pod were stopped.
func (r *Reconciler) tellDetached(attachment *v1alpha1.JmxAttachment, pod *corev1.Pod, agents []*v1alpha1.JavaProcess) {
	if len(agents) > 0 {
		r.Recorder.Eventf(pod, attachment, corev1.EventTypeNormal, "Detached", "TakeOut",
			"%s", text.Cut(fmt.Sprintf("The pod is taken out: the agent in %s is stopped.", places(agents)), 1024))
	}
}

// tellLeft tells what stays behind in a pod that is let go of.
func (r *Reconciler) tellLeft(attachment *v1alpha1.JmxAttachment, pod *corev1.Pod, agents []*v1alpha1.JavaProcess) {
	left := "what could not be undone"
	if len(agents) > 0 {
		left = "the agent in " + places(agents)
	}
	why := ""
	if attempt := attachment.Status.Attempt; attempt != nil {
		why = ": " + attempt.LastError
	}
	r.Recorder.Eventf(pod, attachment, corev1.EventTypeWarning, "AgentLeft", "TakeOut", "%s", text.Cut(fmt.Sprintf(
		"The pod is let go of after %s, and %s stays until its JVM ends%s", attachment.Status.DetachTimeout.Duration, left, why), 1024))
}

func places(agents []*v1alpha1.JavaProcess) string {
	var places []string
	for _, p := range agents {
		places = append(places, fmt.Sprintf("process %d of container %s (port %d)", p.PID, p.Container, p.Port))
	}
	return strings.Join(places, ", ")
}

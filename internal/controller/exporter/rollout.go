package exporter

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// worked reports whether the pod was updated with the revision; the result may still be
// pending.
func (r *rollout) worked(m member) bool {
	return m.attachment != nil && m.attachment.Spec.Revision == r.revision && m.attachment.Status.Revision == r.revision
}

// underWay reports whether the pod holds a slot: its turn has come and is not over. It
// is over when the pod is Annotated, or when it needs a person, an event or a longer
// wait, which must not delay other pods.
func (r *rollout) underWay(m member) bool {
	return m.attachment != nil && m.attachment.Spec.Revision == r.revision && !r.updated(m)
}

// passedOver reports whether the pod has no turn as long as nothing can be attached in
// it.
func (r *rollout) passedOver(m member) bool {
	return m.attachment != nil && m.attachment.Spec.Revision != r.revision && !m.attachable()
}

// updated reports whether the pod was updated to the revision, or could not be.
func (r *rollout) updated(m member) bool {
	if !r.worked(m) && !r.passedOver(m) {
		return false
	}
	switch reason := m.attachment.Status.Reason; {
	case halts(m.attachment, reason) && m.attachment.Status.Resume != r.resume:
		return false // it is tried again
	case reason == "":
		return m.phase() == v1alpha1.PhaseAnnotated
	case v1alpha1.NeedsPerson(reason):
		return true
	case v1alpha1.AwaitsPod(reason):
		return !m.changeDelayed()
	case reason == v1alpha1.ReasonNotAuthorized: // nothing is tried until the right is granted
		return true
	default:
		return standsStill(m)
	}
}

// awaitsHalt reports whether a failed pod's record may be about to pause or halt the rollout:
// until the record is gone, no other pod takes the slot.
func (r *rollout) awaitsHalt(pod *corev1.Pod, attachment *v1alpha1.JmxAttachment) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp.IsZero() && attachment.Spec.Revision == r.revision
}

// proven returns how long the pod has been Exposed with the revision; false if it is
// not.
func (r *rollout) proven(m member) (time.Duration, bool) {
	if !r.worked(m) {
		return 0, false
	}
	exposed := meta.FindStatusCondition(m.attachment.Status.Conditions, string(v1alpha1.PhaseExposed))
	if exposed == nil || exposed.Status != metav1.ConditionTrue {
		return 0, false
	}
	return r.now.Sub(exposed.LastTransitionTime.Time), true
}

// grants returns the pods whose turn has come, in order, and the time after which to
// check again without an event; 0 for never. Inspecting needs no turn, so a pod is
// granted only if its inspection found something to attach to. After the canaries, a new
// pod that is already ready is granted together with its record. An invalid
// configuration grants nothing, and neither does a rollout that is paused or halted.
func (r *rollout) grants(members []member, broken bool) (granted []member, again time.Duration) {
	if r.halt != nil || broken || r.restarts != nil && r.restarts.Paused {
		return nil, 0
	}
	minReady := time.Duration(ptr.Deref(r.limits.Canary.MinReadySeconds, 0)) * time.Second
	canaries, underWay := int32(0), r.failed
	perNode := map[string]int32{}
	// The missing right concerns the whole exporter: if one pod is refused, each would
	// be, and with the right granted all of them would begin at once.
	refused := slices.ContainsFunc(members, func(m member) bool {
		return r.worked(m) && m.attachment.Status.Reason == v1alpha1.ReasonNotAuthorized
	})
	var waiting, unseen []member
	for _, m := range members {
		proven, exposed := r.proven(m)
		switch {
		case r.underWay(m):
			underWay++
			perNode[m.pod.Spec.NodeName]++
		case exposed && proven >= minReady:
			canaries++
		case exposed:
			again = enqueue.Earliest(again, minReady-proven)
		}
		switch {
		case refused && len(endpointsOf(m)) == 0:
		case m.attachment == nil:
			if podReady(m.pod) { // one that starts would hold its slot meanwhile
				unseen = append(unseen, m)
			}
		case m.attachable() && m.attachment.Spec.Revision != r.revision:
			waiting = append(waiting, m)
		}
	}
	room := r.limits.MaxConcurrent - underWay
	if missing := ptr.Deref(r.limits.Canary.Count, 0) - canaries; missing > 0 {
		room = min(room, missing-underWay-r.proving(members, minReady))
	} else {
		waiting = append(waiting, unseen...)
	}
	// Pods without an endpoint come first: they have lost their JVM, or were never
	// served.
	slices.SortStableFunc(waiting, func(a, b member) int {
		return cmp.Compare(min(1, len(endpointsOf(a))), min(1, len(endpointsOf(b))))
	})
	for _, m := range waiting {
		if room <= 0 {
			break
		}
		if perNode[m.pod.Spec.NodeName] >= r.limits.MaxConcurrentPerNode {
			continue
		}
		granted = append(granted, m)
		perNode[m.pod.Spec.NodeName]++
		room--
	}
	return granted, again
}

// proving counts the pods that have not been Exposed for long enough.
func (r *rollout) proving(members []member, minReady time.Duration) (n int32) {
	for _, m := range members {
		if proven, exposed := r.proven(m); exposed && proven < minReady && !r.underWay(m) {
			n++
		}
	}
	return n
}

// halts reports whether a reason of a record halts the rollout: one that does in each pod,
// or a collection that is too large in a JVM that served metrics before. With the same
// configuration, the next pod would serve none either.
func halts(a *v1alpha1.JmxAttachment, reason string) bool {
	return v1alpha1.Halts(reason) || reason == v1alpha1.ReasonCollectionTooLarge && slices.ContainsFunc(a.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return p.Reason == reason && p.Endpoint != nil
	})
}

// stopAt decides whether the rollout is halted or paused.
func (r *rollout) stopAt(exporter *v1alpha1.PrometheusJmxExporter, records []*v1alpha1.JmxAttachment, pods []corev1.Pod) {
	r.restarts = r.restartsOf(exporter.Status.Restarts, records, pods)
	r.halt = r.haltOf(exporter.Status.Halt, records)
	if r.limits.HaltThreshold == nil { // the CustomResourceDefinition is older, and has no status.restarts
		r.restarts = nil
	}
	if r.restarts != nil {
		r.restarts.Paused = r.halt == nil && r.pauseLeft() > 0
	}
}

// haltOf returns why the rollout must stop; nil if it may continue. A halt stays until
// the revision changes or a person resumes the rollout, whatever happens to the pod.
func (r *rollout) haltOf(before *v1alpha1.Halt, records []*v1alpha1.JmxAttachment) *v1alpha1.Halt {
	if before != nil && before.Revision == r.revision && before.Resume == r.resume {
		return before
	}
	updated := 0
	for _, a := range records {
		if !r.current(a) {
			continue
		}
		updated++
		if reason := a.Status.Reason; reason != v1alpha1.ReasonRestartedAfterAttach && halts(a, reason) {
			return r.newHalt(reason, fmt.Sprintf("Pod %s: %s", a.Spec.Pod.Name, messageOf(a)))
		}
	}
	if r.restarts == nil || !r.tooMany(r.restarts.Pods, updated) {
		return nil
	}
	pods := counted(r.restarts.Pods)
	message := describe(pods[len(pods)-1], r.restarts.Message, records)
	if len(pods) > 1 {
		message += fmt.Sprintf(" This happened in %d pods (%s) of %d with this revision.", len(pods), namesOf(pods), max(updated, len(pods)))
	}
	return r.newHalt(v1alpha1.ReasonRestartedAfterAttach, message)
}

func (r *rollout) newHalt(reason, message string) *v1alpha1.Halt {
	return &v1alpha1.Halt{
		Revision: r.revision,
		Resume:   r.resume,
		Reason:   reason,
		Message:  text.Cut(fmt.Sprintf("%s The rollout is halted; existing endpoints keep serving. %s", message, steps.HowToResume(reason)), 2048),
	}
}

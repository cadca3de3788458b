package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Annotate applies the operator's annotations to the pod. If others own some of those for
// scrapes, it applies only the one that shows that an agent is in the pod.
type Annotate struct{ Tools }

// Phase implements statemachine.Step.
func (Annotate) Phase() statemachine.Phase { return Annotated }

// OnlyObserves implements statemachine.Observer: the pod's managedFields show which
// annotations are the operator's.
func (Annotate) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (a Annotate) Ensure(ctx context.Context, s *Situation) statemachine.Outcome {
	if foreign := pod.ForeignScrape(s.Pod); len(foreign) > 0 {
		err := a.reduce(ctx, s.Pod, agentFlag(s))
		if refusesAnnotations(err) { // the flag helps only to find the pod again
			err = a.reduce(ctx, s.Pod, nil)
		}
		if err != nil {
			return annotationFailed(err)
		}
		return record.NotDone(v1alpha1.ReasonAnnotationConflict, conflictMessage(s.Pod, foreign))
	}
	if annotated(s) {
		return record.Done()
	}
	restores := restored(s)
	if restores != nil && restores.Count > maxRestores {
		return record.NotDone(v1alpha1.ReasonAnnotationContested, contestedMessage(s.Pod, missing(s)))
	}
	if err := a.apply(ctx, s.Pod, annotations(s)); err != nil {
		return annotationFailed(err)
	}
	s.Status().Restores = restores
	return record.Done()
}

// Undo implements statemachine.Step. As long as an agent stays in the pod, or it still has to be
// searched for agents, it keeps the annotation that shows that.
func (a Annotate) Undo(ctx context.Context, s *Situation) statemachine.Outcome {
	var kept map[string]string
	switch {
	case !s.flagged():
	case s.Exporter != nil:
		kept = agentFlag(s)
	case s.unsearched && !s.DetachIsOver():
		kept = flag(s)
	}
	if err := a.reduce(ctx, s.Pod, kept); err != nil {
		return annotationFailed(err)
	}
	s.Status().Restores = nil // what the operator withdrew, nobody removed
	return record.Done()
}

const (
	// maxRestores is how often removed annotations are restored before the operator
	// stops.
	maxRestores = 5
	// restoreWindow is the time after which a restore no longer counts.
	restoreWindow = 10 * time.Minute
)

// restored returns the count of restores including this one; nil if the annotations were
// not there before.
func restored(s *Situation) *v1alpha1.Restores {
	before := s.Status().Restores
	if len(missing(s)) == 0 { // it is another port that is to be named
		return before
	}
	// Before all JVMs are exposed, it is unknown whether the annotations were there, so
	// each restore counts: somebody may already be removing them.
	exposed := func(p *v1alpha1.JavaProcess) bool { return p.Phase == v1alpha1.PhaseExposed }
	if !wereThere(s) && len(slices.DeleteFunc(s.Chosen(), exposed)) == 0 {
		return before
	}
	restores := &v1alpha1.Restores{Count: 1, LastTime: s.Now}
	if before != nil && s.Now.Sub(before.LastTime.Time) < restoreWindow {
		restores.Count += before.Count
	}
	return restores
}

// wereThere reports whether the operator's annotations were on the pod before, according
// to its record.
func wereThere(s *Situation) bool {
	c := meta.FindStatusCondition(s.Status().Conditions, string(v1alpha1.PhaseAnnotated))
	return c != nil && (c.Status == metav1.ConditionTrue || slices.Contains([]string{
		v1alpha1.ReasonAnnotationLost, v1alpha1.ReasonAnnotationConflict, v1alpha1.ReasonAnnotationContested,
	}, c.Reason))
}

// reduce reduces the operator's annotations of the pod to those that are kept.
func (a Annotate) reduce(ctx context.Context, from *corev1.Pod, kept map[string]string) error {
	own := pod.OwnAnnotations(from)
	if len(own) == len(kept) && !slices.ContainsFunc(own, func(name string) bool { return kept[name] != from.Annotations[name] }) {
		return nil
	}
	if err := a.apply(ctx, from, kept); !apply.IsGone(err) {
		return err
	}
	return nil
}

// apply applies the operator's annotations to the pod, also to the one in memory: what follows in
// this reconcile compares with it.
func (a Annotate) apply(ctx context.Context, to *corev1.Pod, own map[string]string) error {
	err := a.Writer.PodAnnotations(ctx, to, own)
	if err == nil {
		pod.SetOwn(to, own)
	}
	return err
}

// refusesAnnotations reports whether a write failed because of the annotations that it adds.
func refusesAnnotations(err error) bool {
	return len(apply.ConflictingManagers(err)) > 0 || denied(err)
}

func denied(err error) bool { return err != nil && (apierrors.IsForbidden(err) || text.Denied(err)) }

func annotationFailed(err error) statemachine.Outcome {
	var o statemachine.Outcome
	switch managers := apply.ConflictingManagers(err); {
	case len(managers) > 0:
		o = record.NotDone(v1alpha1.ReasonAnnotationConflict,
			fmt.Sprintf("Annotations of the pod that the operator would add belong to %s; it adds none.", strings.Join(managers, ", ")))
	case apply.IsGone(err):
		o = record.NotDone(v1alpha1.ReasonPodGone, "The pod is gone.")
	case denied(err):
		o = record.NotDone(v1alpha1.ReasonAnnotationRefused, "RBAC or an admission policy denied the pod's annotations: "+text.Denial(err)+".")
	default:
		o = record.NotDone(v1alpha1.ReasonAPIError, "Applying the pod's annotations failed; retrying.")
	}
	o.Err = err
	return o
}

// contestedMessage names the other manager if the pod shows it: a manager that only
// removes annotations owns no field of the pod.
func contestedMessage(on *corev1.Pod, missing []string) string {
	other := "The remover owns no field of the pod and cannot be identified; see the API server's audit log."
	if last := pod.LastChange(on); last != nil {
		other = fmt.Sprintf("Besides the operator, %s changed the pod last.", pod.OwnerName(on, last.Manager))
	}
	return fmt.Sprintf("Annotations %s were removed %d times within %s; the operator stopped restoring them. %s The exporter's EndpointSlices still list the endpoint.",
		strings.Join(missing, ", "), maxRestores+1, restoreWindow, other)
}

func conflictMessage(on *corev1.Pod, foreign []pod.ForeignAnnotation) string {
	var names, owners []string
	for _, f := range foreign {
		names = append(names, f.Name)
		for _, m := range f.Managers {
			owners = append(owners, pod.OwnerName(on, m))
		}
	}
	slices.Sort(owners)
	return fmt.Sprintf("%s of the pod is set by %s. The operator does not add its own, so that no scrape is redirected; the exporter's EndpointSlices list the endpoint.",
		strings.Join(names, ", "), strings.Join(slices.Compact(owners), ", "))
}

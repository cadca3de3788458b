package attachment

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// visit is one reconcile of one pod.
type visit struct {
	*Reconciler
	scope *steps.Scope
	pod   statemachine.State
	// begun is the status at the start of the reconcile, persisted the one in the API
	// server.
	begun, persisted *v1alpha1.JmxAttachmentStatus
}

func (r *Reconciler) visit(scope *steps.Scope) *visit {
	begun := scope.Status().DeepCopy()
	v := &visit{Reconciler: r, scope: scope, pod: steps.PodState(begun), begun: begun, persisted: begun}
	scope.Persist, scope.DoorGate = v.persist, v.doorGate
	return v
}

// attach regresses the record to what still holds, and walks forward from there: the
// pod's own phases, then those of each JVM.
func (v *visit) attach(ctx context.Context) (ctrl.Result, error) {
	v.begin()
	v.examine(ctx)
	pruned, err := v.regress(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	// A failure does not stop the other operations, and is retried.
	withdrawn := v.withdraw(ctx)
	if pruned { // endpoints that are gone leave the EndpointSlices before anything is executed
		if err := v.persist(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}

	found, err := v.findJava(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	after := found.RequeueAfter
	v.noteRestart(v.missed)
	for _, p := range v.fewestTriesFirst() {
		walked, err := v.walkJVM(ctx, &steps.JVM{Scope: v.scope, Process: p})
		if err != nil {
			return ctrl.Result{}, err
		}
		after = enqueue.Earliest(after, walked.RequeueAfter)
	}
	if v.prune(endedMeanwhile) {
		if err := v.regressPod(ctx); err != nil {
			return ctrl.Result{}, err
		}
		after = enqueue.Earliest(after, enqueue.ConflictRetry)
	}
	annotated, err := v.annotate(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	after = enqueue.Earliest(after, annotated.RequeueAfter)
	v.Health.Track(v.key(), v.scope.Pod.Status.PodIP, v.scope.Status().Processes)
	if withdrawn != nil && !steps.AnnotationRefused(withdrawn) {
		return ctrl.Result{}, withdrawn
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// findJava leads the pod to JavaFound and inspects the containers that are due. If no
// JVM is left, the phase no longer holds.
func (v *visit) findJava(ctx context.Context) (statemachine.Result, error) {
	walk := v.walk(steps.PodSteps())
	walk.Persist = func(ctx context.Context) error {
		if steps.Plan.Reached(v.pod.Phase, steps.JavaFound) { // its JVMs persist it together with their own
			return nil
		}
		return v.persist(ctx)
	}
	if steps.Plan.Reached(v.pod.Phase, steps.JavaFound) && steps.Due(v.scope) {
		outcome := steps.FindJava{}.Ensure(ctx, v.scope)
		if err := v.regressPod(ctx); err != nil {
			return statemachine.Result{}, err
		}
		if outcome.Kind == statemachine.Queued {
			return statemachine.Result{RequeueAfter: statemachine.QueuedFor}, nil
		}
		walk.Gate = func(statemachine.Phase) *statemachine.Outcome { return &outcome } // what was tried just now
	}
	found, err := walk.Forward(ctx, v.scope, &v.pod, steps.JavaFound)
	if err != nil || !found.Arrived {
		return found, err
	}
	found.RequeueAfter = v.scope.InspectAfter()
	return found, nil
}

// begin updates the record with what holds from now on. It is persisted together with
// other findings, or at the end of the visit.
func (v *visit) begin() {
	s := v.scope.Status()
	if s.DetachStartTime != nil { // the pod was being detached, and came back
		// Conditions keep their transition times. The record remembers that agents may
		// be there, but not what they serve.
		*s = v1alpha1.JmxAttachmentStatus{Conditions: s.Conditions, Processes: s.Processes}
		for i := range s.Processes {
			p := &s.Processes[i]
			p.Phase, p.Reason, p.Message, p.Attempt = v1alpha1.PhaseDiscovered, "", "", nil
			p.Staged, p.Endpoint, p.Port, p.ConfigSHA256 = nil, nil, 0, ""
		}
		v.pod = statemachine.State{}
	}
	s.DetachTimeout = ptr.Deref(v.scope.Exporter.Spec.Detach.Timeout, metav1.Duration{})
	if granted := v.scope.Attachment.Spec.Revision; v.scope.Granted && s.Revision != granted {
		s.Revision = granted
		for i := range s.Processes { // what was tried, was tried with another
			if p := &s.Processes[i]; p.Phase != v1alpha1.PhaseDiscovered {
				p.Reason, p.Message, p.Attempt = "", "", nil
			}
		}
	}
	resume(v.scope)
	v.scope.KeepHelpers()
	if v.scope.TakesDoor() { // as when mode Preflight ends: what was tried, was tried by exec
		v.pod.Attempt = nil
	}
	if s.Restart != nil && s.Restart.Revision != v.scope.Attachment.Spec.Revision {
		s.Restart = nil
	}
}

// regress drops processes that are gone, in any phase, so that no endpoint points to
// them, and takes the other processes and the pod back to the last phase that holds. It
// reports whether any process was dropped.
func (v *visit) regress(ctx context.Context) (pruned bool, err error) {
	s := v.scope
	gone := func(p *v1alpha1.JavaProcess) bool {
		return !steps.Runs(s.Pod, p) || s.Health[steps.Identity(p)].Finding == steps.FindingGone
	}
	pruned = v.prune(gone)
	for _, j := range v.jvms() {
		state := j.State()
		cause := j.Regress()
		lost, err := v.back(ctx, &state, cause, j.Forget)
		if err != nil {
			return pruned, err
		}
		if lost {
			j.Lose(cause, &state)
		}
		j.SetState(state)
	}
	return pruned, v.regressPod(ctx)
}

// endedMeanwhile reports whether a step found the process gone.
func endedMeanwhile(p *v1alpha1.JavaProcess) bool { return p.Reason == v1alpha1.ReasonProcessGone }

// prune drops processes that are gone, records a possible cause of their exit, and
// requests another inspection of their containers. It reports whether there were any.
func (v *visit) prune(gone func(*v1alpha1.JavaProcess) bool) bool {
	s := v.scope
	v.noteRestart(func(p *v1alpha1.JavaProcess) bool {
		now := s.Known(steps.Identity(p))
		return now != nil && gone(now)
	})
	pruned := s.Filter(gone)
	for _, p := range pruned {
		s.InspectAgain(p.Container)
	}
	s.Drop(gone)
	return len(pruned) > 0
}

func (v *visit) regressPod(ctx context.Context) error {
	_, err := v.back(ctx, &v.pod, v.scope.Regress(), func(*statemachine.Cause) {})
	return err
}

// back takes a state back for a cause, if it applies, and records it. What the cause has
// proven wrong is removed from the record in any phase, because it is observed only
// once. It reports whether a phase was lost.
func (v *visit) back(ctx context.Context, state *statemachine.State, cause *statemachine.Cause, forget func(*statemachine.Cause)) (bool, error) {
	if cause == nil {
		return false, nil
	}
	forget(cause)
	changed, err := steps.Plan.Regress(state, *cause)
	if err != nil || !changed {
		return false, err
	}
	lost, _ := steps.Plan.Next(state.Phase)
	v.recordRegress(ctx, lost, cause)
	return true, nil
}

// annotate derives the pod's phase from its JVMs, and annotates the pod as soon as the
// primary JVM is exposed.
func (v *visit) annotate(ctx context.Context) (statemachine.Result, error) {
	v.pod = v.scope.Sum(v.pod)
	walk := v.walk(steps.PodSteps())
	if steps.Plan.Reached(v.pod.Phase, steps.Exposed) {
		return walk.Forward(ctx, v.scope, &v.pod, steps.Annotated)
	}
	if err := v.persist(ctx); err != nil {
		return statemachine.Result{}, err
	}
	if steps.CanAnnotate(v.scope) {
		steps.Annotate{}.Ensure(ctx, v.scope) // its condition waits for the other JVMs
	}
	return statemachine.Result{}, v.persist(ctx)
}

// jvms returns the processes that are not excluded.
func (v *visit) jvms() []*steps.JVM {
	var jvms []*steps.JVM
	for _, p := range v.scope.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded }) {
		jvms = append(jvms, &steps.JVM{Scope: v.scope, Process: p})
	}
	return jvms
}

// withdraw removes the annotations of a JVM that is gone, so that nothing scrapes it.
func (v *visit) withdraw(ctx context.Context) error {
	if !steps.Misleads(v.scope) {
		return nil
	}
	err := steps.Withdraw(ctx, v.Writer, v.scope.Pod)
	if err != nil {
		v.recordNotWithdrawn(err)
		return err
	}
	v.scope.Status().Restores = nil // what the operator withdrew, nobody removed
	return nil
}

// persist sets phase, reason and conditions, derived from the state of the pod and its
// JVMs, and writes the record.
func (v *visit) persist(ctx context.Context) error {
	changed := v.scope.State(v.pod, v.Clock.Now())
	if err := v.write(ctx); err != nil {
		return err
	}
	v.recordConditions(ctx, changed)
	return nil
}

// write writes the record if it differs from what the API server has.
func (v *visit) write(ctx context.Context) error {
	status := v.scope.Status()
	if equality.Semantic.DeepEqual(v.persisted, status) {
		return nil
	}
	if err := v.Writer.AttachmentStatus(ctx, v.scope.Attachment, status); err != nil {
		return err
	}
	v.persisted = status.DeepCopy()
	return nil
}

func (v *visit) key() types.NamespacedName { return client.ObjectKeyFromObject(v.scope.Attachment) }

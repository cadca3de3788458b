package attachment

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// visit is one reconcile of one pod: the situation, what its decisions are, what they are
// executed with, and what came of them.
type visit struct {
	*Reconciler
	*steps.Situation
	tools     steps.Tools
	tries     tries
	decisions []steps.Decision
	// conclude turns the outcomes of all moves into the result of the reconcile.
	conclude func(context.Context) (ctrl.Result, error)
	// retryInputs is the time after which to read what could not be read of the inputs; 0 for
	// nothing.
	retryInputs time.Duration
	// persisted is the status as the API server has it.
	persisted *v1alpha1.JmxAttachmentStatus
	outcomes
}

// outcomes are what came of the moves of a reconcile.
type outcomes struct {
	// after is the time after which to reconcile again without an event; 0 for never.
	after time.Duration
	// again makes the same decision again.
	again bool
	// ended ends the reconcile.
	ended bool
	// lost reports whether an Event says that a phase no longer holds.
	lost bool
	// withdrawal is the outcome of withdrawing the annotations; nil if nothing was to be
	// withdrawn. A failure does not stop the other moves, and is retried.
	withdrawal *statemachine.Outcome
	// search is the error of looking for the agents of a record that was lost.
	search error
	// undone are the outcomes of the JVMs that were to be taken back to the start.
	undone []undone
}

// undone is the outcome of taking one JVM back to the start.
type undone struct {
	steps.Undo
	statemachine.Result
}

func (v *visit) key() types.NamespacedName { return client.ObjectKeyFromObject(v.Attachment) }

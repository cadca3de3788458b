// Package steps holds the six steps of an attachment, one for each phase. A
// step observes what its phase rests on, and brings it about where it is not so.
package steps

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Step brings about one phase. Steps keep nothing between calls, and are safe
// for concurrent use on different Scopes.
type Step interface {
	// Phase is the phase that this step brings about.
	Phase() statemachine.Phase

	// Lost names the event that takes the attachment back when what the phase
	// rests on is no longer so; empty while it stands. It looks at the Scope
	// alone: no exec only to look again.
	Lost(s *Scope) statemachine.Event

	// Ensure observes, and acts where it must. It is safe to run again after
	// it ran, half ran, or while it still runs, and puts what it found into
	// the record, s.Attachment.Status.
	Ensure(ctx context.Context, s *Scope) Outcome
}

// Announcer is a Step whose effect must stand in the record before it happens.
type Announcer interface {
	Step
	// Announce puts what Ensure is about to do into the record, and tells
	// whether that changed it: then it must be persisted before Ensure.
	Announce(s *Scope) (changed bool)
}

// All returns the steps in the order of their phases.
func All(helper Helper, writer PodWriter, prober Prober, artifacts *Artifacts) []Step {
	return []Step{
		Discover{},
		FindJava{Helper: helper},
		Stage{Helper: helper, Artifacts: artifacts},
		Load{Helper: helper, Artifacts: artifacts},
		Expose{Helper: helper, Prober: prober},
		Annotate{Writer: writer},
	}
}

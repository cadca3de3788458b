package controller

import (
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The longest time until what failed is tried again, and the times until a member that ended young is
// replaced: at first, and at most.
const (
	maxRetryDelay       = time.Minute
	replaceDelay        = 5 * time.Second
	maxReplacementDelay = 5 * time.Minute
)

// pacing delays what failed, while the cluster is reconciled every pollInterval for what its
// members do. It may be used concurrently.
type pacing struct {
	retries statemachine.Attempts
	// replacements are of members, which lose what they have copied until then.
	replacements statemachine.Attempts
}

func newPacing() *pacing {
	return &pacing{
		retries:      statemachine.Attempts{MaxDelay: maxRetryDelay},
		replacements: statemachine.Attempts{MinDelay: replaceDelay, MaxDelay: maxReplacementDelay},
	}
}

// move makes a move unless it was made too recently. It counts as a failure even if it succeeds: that
// it has to be made again shows that it came to nothing.
func (p *pacing) move(id string, m move, now time.Time, do func() *statemachine.Outcome) (o *statemachine.Outcome) {
	attempts := &p.retries
	if m.replaces() {
		attempts = &p.replacements
	}
	attempts.Try(id, now, func() *statemachine.Outcome {
		o = do()
		return fails(ReasonJoining, nil, "The move was made before.")
	})
	return o
}

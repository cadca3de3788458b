package transport

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// agentDenials are the execs into node agents that RBAC or an admission policy denied: what denies
// one denies it for each container of the node. The next is tried with backoff, or with the next
// agent. They are not safe for concurrent use.
type agentDenials struct {
	clock  clock.PassiveClock
	byNode map[string]agentDenial
}

func newAgentDenials() *agentDenials {
	return &agentDenials{clock: clock.RealClock{}, byNode: map[string]agentDenial{}}
}

type agentDenial struct {
	agent types.UID
	err   *Error
	// count is how often in a row it was denied, and until when it is not tried.
	count int32
	until time.Time
}

// of returns why no exec into the agent of a node is tried now; nil if it may be.
func (d *agentDenials) of(node string, agent types.UID) error {
	last, denied := d.byNode[node]
	if !denied || last.agent != agent || !d.clock.Now().Before(last.until) {
		return nil
	}
	return last.err
}

// note notes how an exec into the agent of a node has ended, and whether the command in it had
// begun.
func (d *agentDenials) note(node string, agent types.UID, err error, begun bool) {
	known, ok := errors.AsType[*Error](err)
	if begun || !ok || known.Reason != v1alpha1.ReasonExecForbidden && known.Reason != v1alpha1.ReasonExecRefused {
		delete(d.byNode, node)
		return
	}
	count := int32(1)
	if last := d.byNode[node]; last.agent == agent {
		count += last.count
	}
	now := d.clock.Now()
	for other, last := range d.byNode { // of a node that may be gone
		if now.Sub(last.until) > statemachine.MaxBackoff {
			delete(d.byNode, other)
		}
	}
	d.byNode[node] = agentDenial{agent, known, count, now.Add(statemachine.Backoff(count))}
}

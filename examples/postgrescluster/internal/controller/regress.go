package controller

import (
	"fmt"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// regress says what no longer holds of the phase that the record has; nil if all does.
func regress(c *cluster) *statemachine.Cause {
	cause := func(back string, o *statemachine.Outcome) *statemachine.Cause {
		if o == nil {
			return nil
		}
		return &statemachine.Cause{Back: back, Reason: o.Reason, Message: o.Message}
	}
	for _, check := range []struct {
		back  string
		fails func() *statemachine.Outcome
	}{
		{loseData, c.dataGone}, {losePrimary, c.primaryLost}, {loseQuorum, c.quorumMissing},
		{loseServices, c.servicesChanged}, {loseMember, c.incomplete},
	} {
		if lost := cause(check.back, check.fails()); lost != nil {
			return lost
		}
	}
	return nil
}

// dataGone is that no member has data, of a cluster that had.
func (c *cluster) dataGone() *statemachine.Outcome {
	if c.record.SystemIdentifier == "" || len(c.servers) > 0 {
		return nil
	}
	for _, name := range c.voters() {
		if pod := c.pods[name]; pod == nil {
			return nil
		} else if reason, _ := reasonEnded(pod); reason != member.NoData {
			return nil
		}
	}
	return fails(ReasonDataGone, nil, "No claim has the data of this cluster, and initdb does not run twice: give a member its claim back and delete its pod, or make another PostgresCluster.")
}

// primaryLost is that no member is the primary.
func (c *cluster) primaryLost() *statemachine.Outcome {
	if c.primary() != nil {
		return nil
	}
	name := c.record.Primary
	if name == "" {
		return fails(ReasonPrimaryLost, nil, "No member was promoted yet.")
	}
	if s := c.servers[name]; s != nil {
		return fails(ReasonPrimaryLost, nil, "The member %s is not the primary any more; one is promoted.", name)
	}
	reason, message := c.trouble(name)
	return fails(ReasonPrimaryLost, nil, "The primary %s does not answer (%s). %s", name, reason, message)
}

// quorumMissing is that commits wait for standbys, or do not wait for those that they should.
func (c *cluster) quorumMissing() *statemachine.Outcome {
	p, primary := c.primary(), c.record.Primary
	if p == nil {
		return nil
	}
	if !slices.Contains([]string{synchronousStandbyNames(c.record.Voters, primary), synchronousStandbyNames(c.adopting(), primary)}, p.SynchronousStandbyNames) {
		return fails(ReasonResizing, nil, "The primary %s does not wait for the standbys that it should: its synchronous_standby_names is %q.", primary, p.SynchronousStandbyNames)
	}
	standbys := standbysOf(c.record.Voters, primary)
	streaming := c.streaming()
	missing := slices.DeleteFunc(slices.Clone(standbys), func(name string) bool { return slices.Contains(streaming, name) })
	if needed := acknowledging(len(standbys)); len(standbys)-len(missing) < needed {
		reason, message := c.trouble(missing[0])
		return fails(ReasonQuorumMissing, nil, "Commits wait: %d standbys are to acknowledge them, and %d follow the primary (%s). %s", needed, len(standbys)-len(missing), reason, message)
	}
	return nil
}

// adopting are the voters that the primary is to go by.
func (c *cluster) adopting() []string {
	if len(c.record.NextVoters) > 0 {
		return c.record.NextVoters
	}
	return c.record.Voters
}

// incomplete is that members are missing, or that there are too many.
func (c *cluster) incomplete() *statemachine.Outcome {
	wanted, streaming := c.wanted(), c.streaming()
	for _, name := range wanted {
		if !slices.Contains(streaming, name) {
			reason, message := c.trouble(name)
			if reason == ReasonMemberStarting {
				reason = ReasonJoining
			}
			return fails(reason, nil, "%s", message)
		}
	}
	if voters := c.voters(); !slices.Equal(voters, wanted) {
		return fails(ReasonResizing, nil, "The members that acknowledge commits are to be %v, and are %v.", wanted, voters)
	}
	if extra := c.extra(); len(extra) > 0 {
		return fails(ReasonResizing, nil, "%s is of a member too many; it is deleted.", fmt.Sprint(extra[0].GetName()))
	}
	return nil
}

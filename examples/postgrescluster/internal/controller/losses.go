package controller

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// dataGone returns the outcome where no member has data, of a cluster that had; nil if one has.
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
	return fails(ReasonDataGone, nil, "No claim has the data of this cluster, and initdb does not run twice. Restore the claim of a member and delete its pod, name a claim with a base backup in spec.backup, or create another PostgresCluster.")
}

// credentialsMissing returns the outcome where the operator has no password for the members; nil if
// it has one.
func (c *cluster) credentialsMissing() *statemachine.Outcome {
	if c.password != "" {
		return nil
	}
	return fails(ReasonCredentialsMissing, nil, "The Secret %s or its key %s is missing. Create it with the password that the members have.", secretName(c.object.Name), passwordKey)
}

// primaryLost returns why no member is the primary; nil if one is.
func (c *cluster) primaryLost() *statemachine.Outcome {
	if c.primary() != nil {
		return nil
	}
	name := c.record.Primary
	if name == "" {
		return fails(ReasonPrimaryLost, nil, "No member was promoted yet.")
	}
	if s := c.servers[name]; s != nil {
		return fails(ReasonPrimaryLost, nil, "The primary %s restarted as a standby; it is promoted again.", name)
	}
	if c.primaryBusy() {
		return fails(ReasonConnectionsExhausted, nil, "The primary %s is running, but has no connection left for the operator (%s); it is not failed over. Close connections to it.", name, c.refusals[name].Message)
	}
	reason, message := c.notReadyReason(name)
	return fails(ReasonPrimaryLost, nil, "The primary %s is unreachable (%s). %s", name, reason, message)
}

// primaryBusy reports whether the primary runs, as far as can be known, and only has no connection
// left for the operator. It does not count for a primary that did not answer before: the
// operator's own connections to a server that hangs may be what takes the last one. Nor does it
// after a failover was announced: standbys may have disconnected, and commits that wait for them
// keep their connections.
func (c *cluster) primaryBusy() bool {
	refused := c.refusals[c.record.Primary]
	return c.record.PrimaryLostTime == nil && c.record.Announced == nil && refused != nil && refused.Code == tooManyConnections
}

// quorumMissing returns why commits wait for standbys, or do not wait for those that they should; nil
// if neither is so.
func (c *cluster) quorumMissing() *statemachine.Outcome {
	p, primary := c.primary(), c.record.Primary
	if p == nil {
		return nil
	}
	if !slices.Contains([]string{synchronousStandbyNames(c.record.Voters, primary), synchronousStandbyNames(c.effectiveVoters(), primary)}, p.SynchronousStandbyNames) {
		return fails(ReasonResizing, nil, "synchronous_standby_names of the primary %s is %q and is out of date; updating.", primary, p.SynchronousStandbyNames)
	}
	standbys := standbysOf(c.record.Voters, primary)
	streaming := c.streaming()
	missing := slices.DeleteFunc(slices.Clone(standbys), func(name string) bool { return slices.Contains(streaming, name) })
	if needed := acknowledging(len(standbys)); len(standbys)-len(missing) < needed {
		if reason, message := c.whyMissing(missing); reason != "" {
			return fails(reason, nil, "Commits are blocked: %d standbys must acknowledge them and %d are streaming. %s", needed, len(standbys)-len(missing), message)
		}
		reason, message := c.notReadyReason(missing[0])
		return fails(ReasonQuorumMissing, nil, "Commits are blocked: %d standbys must acknowledge them and %d are streaming (%s). %s", needed, len(standbys)-len(missing), reason, message)
	}
	return nil
}

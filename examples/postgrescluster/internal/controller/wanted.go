package controller

import "slices"

// voters returns all members whose acknowledgment may count.
func (c *cluster) voters() []string {
	all := slices.Concat(c.record.Voters, c.record.NextVoters)
	slices.Sort(all)
	return slices.Compact(all)
}

// effectiveVoters returns the voters that the primary is to go by.
func (c *cluster) effectiveVoters() []string {
	if len(c.record.NextVoters) > 0 {
		return c.record.NextVoters
	}
	return c.record.Voters
}

// members returns those that are wanted, and those that still count.
func (c *cluster) members() []string {
	all := slices.Concat(c.wanted(), c.voters())
	slices.Sort(all)
	return slices.Compact(all)
}

// wanted returns the members of a cluster of the size that is wanted. Those with the most of the
// primary's log stay; once next voters are announced, these do.
func (c *cluster) wanted() []string {
	preferred := slices.Concat(c.byPosition(c.record.NextVoters), c.byPosition(c.record.Voters))
	return membersOf(c.object.Name, int(c.object.Spec.Size), c.record.Primary, preferred)
}

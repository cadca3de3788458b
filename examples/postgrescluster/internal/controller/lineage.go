package controller

// primaryReturned reports whether the primary answers again while a promotion is announced
// that was not observed. If that promotion happened nevertheless, it has no standbys:
// standbys are pointed to a primary only after the record names it.
func (c *cluster) primaryReturned() bool {
	a := c.record.Announced
	if a == nil || c.alreadyPromoted() {
		return false
	}
	without := *c.record
	without.Announced = nil
	return (&cluster{record: &without, servers: c.servers}).primary() != nil
}

// alreadyPromoted reports whether the announced promotion happened.
func (c *cluster) alreadyPromoted() bool {
	a := c.record.Announced
	if a == nil {
		return false
	}
	s := c.servers[a.Member]
	return s != nil && !s.InRecovery && s.promotion() == a.Number
}

// prepared reports whether the announced promotion was begun. Then nothing of it changes any
// more: it may have happened, unobserved, and what the member wrote since is behind the LSN
// of the announcement.
func (c *cluster) prepared() bool {
	a := c.record.Announced
	return a != nil && c.servers[a.Member] != nil && c.servers[a.Member].promotion() == a.Number
}

// promotable reports whether a standby may be promoted: its slots led it to the primary of the
// record, or of the promotion before, and to no other one.
func (c *cluster) promotable(name string) bool {
	s := c.servers[name]
	if s == nil || !s.InRecovery {
		return false
	}
	p := c.record.Promotion
	return p == nil || s.promotion() == p.Number || s.promotion() == p.From
}

// lineage returns the number of the promotion that a standby has the log of; 0 if of none that others
// could share. Its slot says which one it follows, and its timeline whether it received anything
// of that: up to there it has what members of the promotion before have, or less.
func (c *cluster) lineage(name string) int64 {
	if !c.promotable(name) {
		return 0
	}
	s, p := c.servers[name], c.record.Promotion
	switch {
	case p == nil || s.promotion() == p.Number && s.Timeline >= p.Timeline:
		return s.promotion()
	case s.Timeline >= p.FromTimeline:
		return p.From
	}
	return 0
}

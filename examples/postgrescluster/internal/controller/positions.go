package controller

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/jackc/pglogrepl"
)

// maxVoterLag is how many bytes of the log a standby may lack and keep up all the same: one
// segment. Commits wait for a voter that lacks more until it has received them.
const maxVoterLag pglogrepl.LSN = 16 << 20

// flushed returns up to where a member has the primary's log on disk, as it reported last; false if
// it does not stream.
func (c *cluster) flushed(name string) (pglogrepl.LSN, bool) {
	p := c.primary()
	if p != nil && name == c.record.Primary {
		return p.LSN, true
	}
	if !slices.Contains(c.streaming(), name) {
		return 0, false
	}
	return p.Flushed[name], true
}

// have reports whether the standbys of these voters that have the log up to a position, and
// stream, are enough to acknowledge a commit.
func (c *cluster) have(voters []string, position pglogrepl.LSN) bool {
	standbys := standbysOf(voters, c.record.Primary)
	having := 0
	for _, name := range standbys {
		if lsn, streams := c.flushed(name); streams && lsn >= position {
			having++
		}
	}
	return having >= acknowledging(len(standbys))
}

// keptUp returns the position up to which a member has the log if it keeps up with the primary.
func (c *cluster) keptUp() pglogrepl.LSN {
	p := c.primary()
	if p == nil {
		return 0
	}
	return p.LSN - min(p.LSN, maxVoterLag)
}

// keepingUp returns the members in replication that keep up with the primary, and the primary.
func (c *cluster) keepingUp() []string {
	return slices.DeleteFunc(c.streaming(), func(name string) bool {
		lsn, _ := c.flushed(name)
		return lsn < c.keptUp()
	})
}

// byPosition sorts members: the one with the most of the primary's log first, those that do not
// stream last.
func (c *cluster) byPosition(names []string) []string {
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		lsnA, _ := c.flushed(a)
		lsnB, _ := c.flushed(b)
		return cmp.Or(cmp.Compare(lsnB, lsnA), cmp.Compare(a, b))
	})
}

// diverged returns why a member's history is not the primary's; empty if it is, or if one of the two
// does not answer.
func (c *cluster) diverged(name string) string {
	s, p := c.servers[name], c.primary()
	switch {
	case s == nil || p == nil || name == c.record.Primary:
		return ""
	case !s.InRecovery:
		return "it takes writes, on timeline " + strconv.Itoa(int(s.Timeline))
	}
	primary := p.History
	primary.LSN = max(p.LSN, s.History.LSN) // they were asked at once; what it has since was received
	return s.History.Diverged(primary)
}

package controller

import (
	"slices"

	"github.com/jackc/pglogrepl"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// A move is what makes a running member follow the primary.
type move int

const (
	stay move = iota
	// stopStreaming: its WAL is compared with the primary's only when it no longer grows.
	stopStreaming
	// startStreaming: its WAL is a prefix of the primary's.
	startStreaming
	// joinAgain: its WAL may diverge from the primary's; member join finds out.
	joinAgain
	// copyAfresh: the primary no longer has the WAL that it needs.
	copyAfresh
)

// replaces reports whether the member is replaced by another pod, which joins.
func (m move) replaces() bool { return m == joinAgain || m == copyAfresh }

// nextMove returns the move of a member other than the primary of promotion p, whose slot and
// connection these are; lost are the slots whose WAL the primary removed. A member that diverged
// receives what does not fit: it would ask for it for ever.
func nextMove(s *server, p v1.Promotion, slot, connection string, lost []string, diverged bool) move {
	follows := s.promotion()
	switch {
	case !s.InRecovery || diverged && s.Slot == slot:
		return joinAgain
	case s.Slot == slot && slices.Contains(lost, slot):
		return copyAfresh
	case s.Slot == slot && s.Upstream == connection:
		return stay
	case s.Slot == slot:
		return startStreaming
	case follows == 0 || follows != p.From:
		return joinAgain
	case s.Upstream != "":
		return stopStreaming
	case s.Receiving || !s.Waiting:
		return stay // until it has replayed all WAL that it has
	}
	if until, err := pglogrepl.ParseLSN(p.LSN); err != nil || s.LSN > until {
		return joinAgain
	}
	return startStreaming
}

package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// promote brings Promoted about: one member is the primary. Members start as standbys, so
// that the first primary, one that was started again, and a standby in its place are all
// promoted here, and nowhere else.
type promote struct{ *Reconciler }

// Phase implements statemachine.Step.
func (promote) Phase() statemachine.Phase { return Promoted }

// Announce implements statemachine.Announcer: what may have happened stands in the record.
func (promote) Announce(_ context.Context, c *cluster) *statemachine.Outcome {
	if c.returned() {
		c.record.Announced = nil
	}
	if c.primary() != nil {
		return nil
	}
	announced, o := c.target()
	if o == nil {
		c.record.Announced, c.record.Promotions = announced, announced.Number
	}
	return o
}

// returned reports whether the primary is well and somebody else was announced who was not
// seen to be promoted. If he was all the same, nobody follows him: standbys are led to a
// primary only when the record says that he is one.
func (c *cluster) returned() bool {
	a := c.record.Announced
	if a == nil || c.happened() {
		return false
	}
	without := *c.record
	without.Announced = nil
	return (&cluster{record: &without, servers: c.servers}).primary() != nil
}

// happened reports whether the member that was announced was promoted.
func (c *cluster) happened() bool {
	a := c.record.Announced
	if a == nil {
		return false
	}
	s := c.servers[a.Member]
	return s != nil && !s.InRecovery && s.promotion() == a.Number
}

// standing is the number of the promotion that a member's log is of; 0 if it is of none
// that the next primary may come from.
func (c *cluster) standing(name string) int64 {
	s := c.servers[name]
	if s == nil || !s.InRecovery {
		return 0
	}
	number := s.promotion()
	if a := c.record.Announced; a != nil && a.Member == name && a.Number == number {
		number = a.From // it has its new name, and was not promoted yet
	}
	if p := c.record.Promotion; p == nil || number == p.Number || number == p.From {
		return number
	}
	return 0
}

// target is who is to be promoted.
func (c *cluster) target() (*v1.Announced, *statemachine.Outcome) {
	if c.happened() {
		return c.record.Announced, nil
	}
	name, p := c.record.Primary, c.record.Promotion
	switch {
	case p == nil: // the first
		if name = c.record.Voters[0]; c.servers[name] == nil {
			reason, message := c.trouble(name)
			return nil, fails(reason, nil, "%s", message)
		}
	case c.standing(name) == p.Number: // it has all that it acknowledged
	default:
		var o *statemachine.Outcome
		if name, o = c.successor(); o != nil {
			return nil, o
		}
	}
	announced := &v1.Announced{Member: name, Promotion: v1.Promotion{
		Number: c.record.Promotions + 1, From: c.standing(name), LSN: c.servers[name].LSN.String(),
	}}
	// Nobody else has had this number, and he did not make use of it.
	if a := c.record.Announced; a != nil && a.Member == name && a.From == announced.From {
		announced.Number = a.Number
	}
	return announced, nil
}

// successor is the standby that takes the place of the primary.
func (c *cluster) successor() (string, *statemachine.Outcome) {
	lost := c.primaryLost()
	if since := c.record.PrimaryLostTime; since != nil {
		if wait := c.object.Spec.FailoverDelay.Duration - c.now.Sub(since.Time); wait > 0 {
			lost.RetryAfter = wait
			return "", lost
		}
	}
	heard := c.heardStandbys()
	for _, voters := range [][]string{c.record.Voters, c.adopting()} {
		if !enough(voters, c.record.Primary, heard) {
			return "", fails(ReasonQuorumMissing, nil, "The primary %s does not answer, and too few of its standbys do to be sure that nothing is lost: %v, of %v.", c.record.Primary, heard, standbysOf(voters, c.record.Primary))
		}
	}
	// A log of the primary's promotion has more than one of the promotion before; of one
	// promotion, the longest has all that any of the others has.
	best := slices.MaxFunc(heard, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.standing(a), c.standing(b)), cmp.Compare(c.servers[a].LSN, c.servers[b].LSN), cmp.Compare(b, a))
	})
	if c.standing(best) == 0 {
		return "", fails(ReasonQuorumMissing, nil, "The primary %s does not answer, and none of %v has followed it.", c.record.Primary, heard)
	}
	return best, nil
}

// heardStandbys are the voters that answer as standbys, the primary aside.
func (c *cluster) heardStandbys() []string {
	return slices.DeleteFunc(standbysOf(c.voters(), c.record.Primary), func(name string) bool {
		return c.servers[name] == nil || !c.servers[name].InRecovery
	})
}

// cutPause is how long standbys are given to let go of the primary.
const cutPause = 200 * time.Millisecond

// Ensure implements statemachine.Step.
func (r promote) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	a := c.record.Announced
	if a == nil {
		return done
	}
	if !c.happened() {
		if o := r.cutOff(ctx, c, a); o != nil {
			return *o
		}
		if err := r.execute(ctx, c, a.Member, promotion(c, a)...); err != nil {
			return *fails(ReasonSQLError, err, "The member %s could not be promoted; status.attempt.lastError says why.", a.Member)
		}
	}
	var have []string
	if c.happened() {
		have = c.servers[a.Member].Slots
	}
	finish := append(slots(have, a.Number, standbysOf(c.members(), a.Member)),
		// pg_rewind goes by the last checkpoint: before it, it sees no new timeline.
		statement{"checkpoint", "CHECKPOINT"})
	if err := r.execute(ctx, c, a.Member, finish...); err != nil {
		return *fails(ReasonSQLError, err, "The new primary %s could not be made ready for its standbys; status.attempt.lastError says why.", a.Member)
	}
	c.record.Primary, c.record.Promotion, c.record.Announced, c.record.PrimaryLostTime = a.Member, &a.Promotion, nil, nil
	c.observe(ctx)
	return done
}

// cutOff has the standbys let go of the primary whose place one of them takes. Their
// positions are looked at again after it: what the announcement says is to be final.
func (r promote) cutOff(ctx context.Context, c *cluster, a *v1.Announced) *statemachine.Outcome {
	standbys := c.heardStandbys()
	if c.record.Primary == "" || a.Member == c.record.Primary {
		standbys = []string{a.Member} // nobody follows it in a promotion that he was not told of
	}
	cutting := false
	for _, name := range standbys {
		s := c.servers[name]
		cutting = cutting || s.Upstream != "" || s.Receiving || !s.Waiting
		if s.Upstream == "" {
			continue // its walreceiver ends, or its log is replayed
		}
		if err := r.execute(ctx, c, name, letGo()...); err != nil {
			return fails(ReasonSQLError, err, "The member %s could not be told to let go of the primary; status.attempt.lastError says why.", name)
		}
	}
	if !cutting {
		return nil
	}
	o := fails(ReasonFailingOver, nil, "The standbys let go of their primary and replay what they have; then %s is promoted, or the one that has more.", a.Member)
	o.RetryAfter = cutPause
	return o
}

// promotion are the statements that promote a member. It waits for its standbys from its
// first commit on, and gives up the slots of other promotions before: whoever followed it
// by one does not follow it in this.
func promotion(c *cluster, a *v1.Announced) []statement {
	return append(slots(c.servers[a.Member].Slots, a.Number, nil),
		set("primary_slot_name", member.Slot(a.Number, a.Member)),
		set("synchronous_standby_names", synchronousStandbyNames(c.adopting(), a.Member)),
		set("primary_conninfo", ""),
		reload,
		statement{"promote", "SELECT pg_promote(true, 60)"})
}

// Undo implements statemachine.Step: a primary stays one.
func (promote) Undo(context.Context, *cluster) statemachine.Outcome { return done }

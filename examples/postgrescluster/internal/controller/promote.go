package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// promote is the step to Promoted: one member is the primary. Members start as standbys, so
// that the first primary, one that was started again, and a standby in its place are all
// promoted here, and nowhere else.
type promote struct {
	// A primary stays one.
	statemachine.NoUndo[*cluster]
	*Reconciler
}

// Phase implements statemachine.Step.
func (promote) Phase() statemachine.Phase { return Promoted }

// Announce implements statemachine.Announcer: what may have happened stands in the record.
func (promote) Announce(_ context.Context, c *cluster) *statemachine.Outcome {
	if o := c.credentialsMissing(); o != nil && c.primary() == nil {
		return o
	}
	if o := c.adopt(); o != nil {
		return o
	}
	if c.primaryReturned() {
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

// target returns the member to promote, with the promotion.
func (c *cluster) target() (*v1.Announced, *statemachine.Outcome) {
	if c.prepared() {
		return c.record.Announced, nil
	}
	name, p := c.record.Primary, c.record.Promotion
	switch {
	case p == nil: // the first
		if name = c.record.Voters[0]; c.servers[name] == nil {
			reason, message := c.notReadyReason(name)
			return nil, fails(reason, nil, "%s", message)
		}
	case c.lineage(name) == p.Number: // the primary restarted, with every commit it acknowledged
	default:
		var o *statemachine.Outcome
		if name, o = c.failoverTarget(); o != nil {
			return nil, o
		}
	}
	announced := &v1.Announced{Member: name, Promotion: v1.Promotion{
		Number: c.record.Promotions + 1, From: c.lineage(name), LSN: c.servers[name].LSN.String(), FromTimeline: c.servers[name].Timeline,
	}}
	// The number is unused: the same member was announced with it and was not prepared.
	if a := c.record.Announced; a != nil && a.Member == name && a.From == announced.From {
		announced.Number = a.Number
	}
	return announced, nil
}

// failoverTarget returns the standby to promote in place of a lost primary.
func (c *cluster) failoverTarget() (string, *statemachine.Outcome) {
	lost := c.primaryLost()
	if c.primaryBusy() {
		return "", lost
	}
	if len(standbysOf(c.voters(), c.record.Primary)) == 0 { // nobody to take its place
		reason, message := c.notReadyReason(c.record.Primary)
		return "", fails(reason, nil, "%s", message)
	}
	if since := c.record.PrimaryLostTime; since != nil {
		if wait := c.object.Spec.FailoverDelay.Duration - c.now.Sub(since.Time); wait > 0 {
			lost.RetryAfter = wait
			return "", lost
		}
	}
	// One that cannot be promoted does not count: a commit that it alone has would be lost.
	reachable := slices.DeleteFunc(c.reachableStandbys(), func(name string) bool { return !c.promotable(name) })
	for _, voters := range [][]string{c.record.Voters, c.effectiveVoters()} {
		if !canFailOver(voters, c.record.Primary, reachable) {
			missing := slices.DeleteFunc(standbysOf(c.voters(), c.record.Primary), func(name string) bool { return slices.Contains(reachable, name) })
			if reason, message := c.whyMissing(slices.Insert(missing, 0, c.record.Primary)); reason != "" {
				return "", fails(reason, nil, "Too few standbys are reachable to fail over without losing commits: %v of %v. %s", reachable, standbysOf(voters, c.record.Primary), message)
			}
			return "", fails(ReasonQuorumMissing, nil, "Too few standbys are reachable to fail over without losing commits: %v of %v. Bring one back, or the primary. %s", reachable, standbysOf(voters, c.record.Primary), lost.Message)
		}
	}
	// Promotions begin timelines, each greater than those that the member knew. A log of a later
	// one has more than any of the one before; of one timeline, the longest has all that any of the
	// others has.
	best := slices.MaxFunc(reachable, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.servers[a].Timeline, c.servers[b].Timeline), cmp.Compare(c.servers[a].LSN, c.servers[b].LSN), cmp.Compare(b, a))
	})
	return best, nil
}

// reachableStandbys returns the voters that answer as standbys, except the primary.
func (c *cluster) reachableStandbys() []string {
	return slices.DeleteFunc(standbysOf(c.voters(), c.record.Primary), func(name string) bool {
		return c.servers[name] == nil || !c.servers[name].InRecovery
	})
}

// disconnectInterval is the time between two looks at walreceivers that are stopping.
const disconnectInterval = 200 * time.Millisecond

// settleTimeout is how long members are looked at after they were told something: they do it in a
// moment, or may never do it, and are told again with backoff, or once they differ (key).
const settleTimeout = time.Second

// settles looks at the members until something is so; false if it is not in time.
func (c *cluster) settles(ctx context.Context, is func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, disconnectInterval, settleTimeout, false, func(context.Context) (bool, error) {
		c.observe(ctx) // whose deadline is its own: half an observation is none
		return is(), nil
	}) == nil
}

// Ensure implements statemachine.Step.
func (r promote) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	a := c.record.Announced
	if a == nil {
		return done
	}
	if !c.alreadyPromoted() {
		if o := r.recordVoters(ctx, c); o != nil {
			return *o
		}
		if o := r.disconnectStandbys(ctx, c, a); o != nil {
			return *o
		}
		if o := r.prepare(ctx, c, a); o != nil {
			return *o
		}
		if err := r.execute(ctx, c, a.Member, checkpoint,
			ensure("promote", fmt.Sprintf("SELECT pg_promote(true, %d)", int(promoteTimeout.Seconds())), "the promotion has not ended yet")); err != nil {
			return *fails(ReasonSQLError, err, "The member %s could not be promoted; see status.attempt.lastError.", a.Member)
		}
	}
	var have []string
	if c.alreadyPromoted() {
		have = c.servers[a.Member].Slots
	}
	finish := append(slots(have, a.Number, standbysOf(c.members(), a.Member)),
		// pg_rewind goes by the last checkpoint: before it, it sees no new timeline.
		checkpoint)
	if err := r.execute(ctx, c, a.Member, finish...); err != nil {
		return *fails(ReasonSQLError, err, "Creating replication slots on the new primary %s failed; see status.attempt.lastError.", a.Member)
	}
	if c.observe(ctx); !c.alreadyPromoted() { // standbys are told apart by its timeline
		return *fails(ReasonPromoting, nil, "The member %s was promoted and does not answer.", a.Member)
	}
	a.Timeline = c.servers[a.Member].Timeline
	c.record.Primary, c.record.Promotion, c.record.Announced, c.record.PrimaryLostTime = a.Member, &a.Promotion, nil, nil
	return done
}

// disconnectStandbys stops streaming from the lost primary on all reachable standbys. Nil
// means that their walreceivers stopped and that they replayed all WAL they have, so that
// the positions of the announcement are final.
func (r promote) disconnectStandbys(ctx context.Context, c *cluster, a *v1.Announced) *statemachine.Outcome {
	standbys := c.reachableStandbys()
	if c.record.Primary == "" || a.Member == c.record.Primary {
		standbys = []string{a.Member} // the slots of the new promotion keep others from streaming
	}
	streams := func(name string) bool {
		s := c.servers[name]
		return s != nil && (s.Upstream != "" || s.Receiving)
	}
	stopping := slices.ContainsFunc(standbys, streams)
	replaying := slices.ContainsFunc(standbys, func(name string) bool { return !c.servers[name].Waiting })
	for _, name := range standbys {
		if c.servers[name].Upstream == "" {
			continue // its walreceiver is stopping, or WAL is being replayed
		}
		if err := r.execute(ctx, c, name, disconnect()...); err != nil {
			return fails(ReasonSQLError, err, "Disconnecting the standby %s from the lost primary failed; see status.attempt.lastError.", name)
		}
	}
	if !stopping && !replaying {
		return nil
	}
	o := fails(ReasonFailingOver, nil, "Standbys are disconnecting from the lost primary; then %s, or the standby with the most WAL, is promoted.", a.Member)
	if stopping && c.settles(ctx, func() bool { return !slices.ContainsFunc(standbys, streams) }) {
		o.RetryAfter = disconnectInterval // their positions are final: who has the most is known
	}
	return o
}

// prepare gives a member the settings of a primary; nil means that new connections have them.
// It waits for its standbys from its first commit on. The slots of other promotions are
// dropped, so that no standby follows it into this one by itself.
func (r promote) prepare(ctx context.Context, c *cluster, a *v1.Announced) *statemachine.Outcome {
	names := synchronousStandbyNames(c.effectiveVoters(), a.Member)
	if err := r.execute(ctx, c, a.Member, append(slots(c.servers[a.Member].Slots, a.Number, nil),
		set("primary_slot_name", member.Slot(a.Number, a.Member)),
		set("synchronous_standby_names", names),
		set("primary_conninfo", ""),
		reload)...); err != nil {
		return fails(ReasonSQLError, err, "The member %s could not be prepared for its promotion; see status.attempt.lastError.", a.Member)
	}
	reloaded := func() bool {
		s := c.servers[a.Member]
		return s != nil && s.SynchronousStandbyNames == names && s.promotion() == a.Number
	}
	if c.observe(ctx); !reloaded() && !c.settles(ctx, reloaded) {
		return fails(ReasonPromoting, nil, "The member %s is reloading the settings of a primary; then it is promoted.", a.Member)
	}
	return nil
}

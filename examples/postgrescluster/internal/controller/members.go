package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// ensureMembers keeps claims and Services as they are wanted and the voters running, whatever the
// phase: more storage is what helps a member whose claim is full, and the acknowledgments of voters
// count in a failover. It returns what failed first, of members before objects.
func (r *Reconciler) ensureMembers(ctx context.Context, c *cluster) *statemachine.Outcome {
	objects := statemachine.Upkeep{Attempts: &r.pacing.retries, Now: c.now}
	objects.Try(c.attempt("claims", ""), func() *statemachine.Outcome { return r.ensureClaims(ctx, c) })
	objects.Try(c.attempt("services", ""), func() *statemachine.Outcome { return r.ensureMemberServices(ctx, c) })
	objects.Try(c.attempt("budget", ""), func() *statemachine.Outcome { return r.ensureBudget(ctx, c) })
	objects.Try(c.attempt("secret", ""), func() *statemachine.Outcome { return r.ensureSecret(ctx, c) })
	objects.Try(c.attempt("records", ""), func() *statemachine.Outcome { return r.keepRecords(ctx, c) })
	members := statemachine.Upkeep{Attempts: &r.pacing.retries, Now: c.now}
	if c.record.SystemIdentifier != "" && c.password != "" {
		members.Try(c.attempt("slots", c.record.Primary), func() *statemachine.Outcome { return r.ensureSlots(ctx, c) })
		for _, name := range c.voters() {
			members.Keep(r.ensureMember(ctx, c, name))
		}
	}
	return cmp.Or(members.Kept(), objects.Kept())
}

// attempt identifies what is done, for a member's pod if it has a name, as long as neither the pod nor
// the spec changes.
func (c *cluster) attempt(what, name string) string {
	var pod types.UID
	if p := c.pods[name]; p != nil {
		pod = p.UID
	}
	return fmt.Sprintf("%s %s of %s, generation %d, pod %s", what, name, c.object.UID, c.object.Generation, pod)
}

// ensureSlots has the primary keep the log for the members.
func (r *Reconciler) ensureSlots(ctx context.Context, c *cluster) *statemachine.Outcome {
	p := c.primary()
	if p == nil {
		return nil
	}
	number := c.record.Promotion.Number
	have := slices.Clone(p.Slots)
	for name, s := range c.servers {
		// Its log is gone, and the member knows it.
		if slot := member.Slot(number, name); slices.Contains(p.Lost, slot) && s.Slot != slot {
			have = slices.DeleteFunc(have, func(s string) bool { return s == slot })
			if err := r.execute(ctx, c, c.record.Primary, slots([]string{slot}, number, nil)...); err != nil {
				return fails(ReasonSQLError, err, "Dropping the invalid replication slot %s failed; see status.attempt.lastError.", slot)
			}
		}
	}
	if err := r.execute(ctx, c, c.record.Primary, slots(have, number, standbysOf(c.members(), c.record.Primary))...); err != nil {
		return fails(ReasonSQLError, err, "Creating replication slots on the primary %s failed; see status.attempt.lastError.", c.record.Primary)
	}
	return nil
}

// ensureMember sees to it that a member has its claim, its Service and its pod, and that it
// follows the primary if there is one. What failed is tried again after a while.
func (r *Reconciler) ensureMember(ctx context.Context, c *cluster, name string) *statemachine.Outcome {
	if o := c.foreignTo(name); o != nil {
		return c.nameTaken(o)
	}
	return r.pacing.retries.Try(c.attempt("member", name), c.now, func() *statemachine.Outcome { return r.tryMember(ctx, c, name) })
}

func (r *Reconciler) tryMember(ctx context.Context, c *cluster, name string) *statemachine.Outcome {
	switch claim := c.claims[name]; {
	case claim == nil && c.record.Adopting: // an empty one would take its place
		return claimMissing(name)
	case claim == nil:
		if o := r.applyObject(ctx, owner, c.object.Namespace+"/"+name, "claim", c.wantedClaim(name)); o != nil {
			return o
		}
	case !c.owns(claim): // it is about to be taken over
		return nil
	}
	if c.services[name] == nil {
		if o := r.ensureService(ctx, c, c.memberService(name)); o != nil {
			return o
		}
	}
	pod, verb := c.pods[name], c.verb(name)
	if pod == nil {
		return r.applyObject(ctx, owner, c.object.Namespace+"/"+name, "pod", c.wantedPod(name, verb))
	}
	if !pod.DeletionTimestamp.IsZero() { // its end is an event
		return nil
	}
	if reason, _ := reasonEnded(pod); reason == member.NoData && pod.Spec.Containers[0].Args[0] == string(verb) {
		return nil // it would say so again
	}
	if ends := fmt.Sprintf("ends of %s of %s", name, c.object.UID); replaceable(pod, c.now, r.pacing.replacements.Delay(ends)) {
		if o := r.remove(ctx, pod); o != nil {
			return o
		}
		var young *statemachine.Outcome
		if endedYoung(ended(pod)) {
			young = fails(ReasonMemberEnded, nil, "The member %s exited.", name)
		}
		r.pacing.replacements.Note(ends, c.now, young)
		return nil
	}
	if s := c.servers[name]; s != nil && c.primary() != nil && name != c.record.Primary {
		return r.repoint(ctx, c, name, s)
	}
	return nil
}

// repoint has a running member follow the primary.
func (r *Reconciler) repoint(ctx context.Context, c *cluster, name string, s *server) *statemachine.Outcome {
	address, slot := c.address(c.record.Primary), member.Slot(c.record.Promotion.Number, name)
	var statements []statement
	move := nextMove(s, *c.record.Promotion, slot, member.ConnectionTo(address), c.primary().Lost, c.diverged(name) != "")
	switch move {
	case stay, joinAgain:
	case stopStreaming:
		statements = disconnect()
	case startStreaming:
		statements = follow(address, slot)
	case copyAfresh:
		statements = []statement{set("primary_slot_name", ""), reload}
	}
	if move.replaces() {
		if o := r.ensureRole(ctx, c, name); o != nil { // no more reads of what diverged
			return o
		}
	}
	if move == stay {
		return nil
	}
	return r.pacing.move(c.moved(name, move), move, c.now, func() *statemachine.Outcome {
		if len(statements) > 0 {
			if err := r.execute(ctx, c, name, statements...); err != nil {
				return fails(ReasonSQLError, err, "Pointing the standby %s to the primary failed; see status.attempt.lastError.", name)
			}
		}
		if move.replaces() {
			return r.remove(ctx, c.pods[name])
		}
		return nil
	})
}

// moved identifies what is done time and again where a move succeeds and comes to nothing: a member
// that does not reload its settings, or whose copy does not follow the primary either.
func (c *cluster) moved(name string, move move) string {
	if move.replaces() {
		return fmt.Sprintf("copies of %s of %s for promotion %d", name, c.object.UID, c.record.Promotion.Number)
	}
	return c.attempt(fmt.Sprintf("move %d to promotion %d", move, c.record.Promotion.Number), name)
}

// verb returns what a member that is started now does.
func (c *cluster) verb(name string) member.Verb {
	switch {
	case c.record.SystemIdentifier == "":
		return member.Seed
	case c.record.Restoring && name == c.record.Voters[0]:
		return member.Restore
	case c.primary() != nil && name != c.record.Primary:
		return member.Join
	}
	return member.Run
}

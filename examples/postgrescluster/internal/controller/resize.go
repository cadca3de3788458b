package controller

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pglogrepl"
	"k8s.io/apimachinery/pkg/util/wait"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The voters change by joint consensus: while the record has voters and next voters, a failover
// needs enough of both. The former ones cease to count when
//
//  1. nothing on the primary goes by them any more: the checkpointer has read the setting, and
//     the walsenders that are older than it have ended. From then on, only next voters acknowledge;
//  2. enough of the next voters to acknowledge a commit have the log up to where the primary had
//     written it by then: each commit that the former ones acknowledged is on them.
//
// Patroni has the second rule for a node that it adds to its sync key: it counts once it has
// flushed what the primary had flushed when synchronous_standby_names was changed.

// announceVoters puts into the record who is about to acknowledge commits: the members
// that are wanted, as soon as they keep up with the primary, one change at a time.
func announceVoters(c *cluster) *statemachine.Outcome {
	if c.primary() == nil || len(c.record.NextVoters) > 0 {
		return nil
	}
	voters, wanted := slices.Sorted(slices.Values(c.record.Voters)), c.wanted()
	staying := slices.DeleteFunc(slices.Clone(voters), func(name string) bool { return !slices.Contains(wanted, name) })
	// By one change, or, where too many of those that would be left are lost, by all that leave.
	for _, next := range [][]string{nextVoters(voters, wanted, c.keepingUp()), staying} {
		if !slices.Equal(next, voters) && c.have(next, c.keptUp()) {
			c.record.NextVoters = next
			return nil
		}
	}
	return nil
}

// reconnectTimeout is how long standbys may take to connect again, and to receive what they lack.
const reconnectTimeout = 15 * time.Second

// applyVoters has the primary go by the voters of the record. The old ones count until nothing
// on the primary goes by them any more: commits wait for no standby before the checkpointer has
// read the setting, and a walsender releases them by the setting that it read last, so those
// that are older than the setting are ended.
func (r *Reconciler) applyVoters(ctx context.Context, c *cluster) *statemachine.Outcome {
	primary, names := c.record.Primary, synchronousStandbyNames(c.effectiveVoters(), c.record.Primary)
	fail := func(err error) *statemachine.Outcome {
		return fails(ReasonSQLError, err, "Setting synchronous_standby_names on the primary %s failed; see status.attempt.lastError.", primary)
	}
	if c.primary().SynchronousStandbyNames != names {
		if o := r.recordVoters(ctx, c); o != nil {
			return o
		}
		if err := r.execute(ctx, c, primary, set("synchronous_standby_names", names), reload); err != nil {
			return fail(err)
		}
	}
	if len(c.record.NextVoters) == 0 {
		return nil
	}
	before := c.streaming()
	// A new connection has the setting of the server.
	if c.observe(ctx); c.primary() == nil || c.primary().SynchronousStandbyNames != names {
		return fails(ReasonResizing, nil, "The primary %s is reloading synchronous_standby_names.", primary)
	}
	if err := r.execute(ctx, c, primary, checkpoint, ensure("end older walsenders",
		"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_replication WHERE backend_start < pg_conf_load_time() AND pid <> pg_backend_pid()",
		"a walsender that goes by the former synchronous_standby_names has not ended")); err != nil {
		return fail(err)
	}
	if c.observe(ctx); c.primary() == nil {
		return fails(ReasonPrimaryLost, nil, "The primary %s does not answer any more.", primary)
	}
	return r.adoptVoters(ctx, c, before, c.primary().LSN)
}

// adoptVoters has the next voters be the voters, once enough of them have the log up to a
// position. Those that streamed before are back at once; who is not is missed by what comes next.
func (r *Reconciler) adoptVoters(ctx context.Context, c *cluster, before []string, position pglogrepl.LSN) *statemachine.Outcome {
	next := c.record.NextVoters
	back := slices.DeleteFunc(before, func(name string) bool { return !slices.Contains(next, name) })
	_ = wait.PollUntilContextTimeout(ctx, disconnectInterval, reconnectTimeout, true, func(ctx context.Context) (bool, error) {
		c.observe(ctx)
		streaming := c.streaming()
		missing := slices.ContainsFunc(back, func(name string) bool { return !slices.Contains(streaming, name) })
		return c.primary() == nil || c.have(next, position) && !missing, nil
	})
	switch {
	case c.primary() == nil:
		return fails(ReasonPrimaryLost, nil, "The primary %s does not answer any more.", c.record.Primary)
	case c.have(next, position):
		c.record.Voters, c.record.NextVoters = next, nil
		return nil
	case !c.have(next, 0) && c.have(c.record.Voters, 0):
		// Commits wait for standbys that are lost, and would not with the former voters. Both
		// count, so that either may be the next ones.
		c.record.Voters, c.record.NextVoters = next, c.record.Voters
	}
	return fails(ReasonResizing, nil, "Members %v are to acknowledge commits; too few of them have received what others acknowledged, up to %s.", next, position)
}

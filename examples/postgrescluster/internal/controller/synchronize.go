package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// synchronize brings Synchronous about: enough standbys acknowledge each commit.
type synchronize struct{ *Reconciler }

// Phase implements statemachine.Step.
func (synchronize) Phase() statemachine.Phase { return Synchronous }

// Announce implements statemachine.Announcer.
func (synchronize) Announce(_ context.Context, c *cluster) *statemachine.Outcome {
	return announceVoters(c)
}

// Ensure implements statemachine.Step.
func (r synchronize) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	if o := c.primaryLost(); o != nil {
		return *o
	}
	if o := r.applyVoters(ctx, c); o != nil {
		return *o
	}
	// A cluster of several begins to serve when the first standby acknowledges.
	if len(c.record.Voters) < min(2, int(c.object.Spec.Size)) {
		return *r.grow(ctx, c)
	}
	if o := c.quorumMissing(); o != nil {
		return *cmp.Or(c.kept, o)
	}
	return done
}

// Undo implements statemachine.Step.
func (synchronize) Undo(context.Context, *cluster) statemachine.Outcome { return done }

// announceVoters puts into the record who is about to acknowledge commits: the members
// that are wanted, as soon as they follow the primary, one change at a time.
func announceVoters(c *cluster) *statemachine.Outcome {
	if c.primary() == nil || len(c.record.NextVoters) > 0 {
		return nil
	}
	next := nextVoters(c.record.Voters, c.wanted(), c.streaming())
	if !slices.Equal(next, slices.Sorted(slices.Values(c.record.Voters))) {
		c.record.NextVoters = next
	}
	return nil
}

// reconnectTimeout is how long standbys may take to connect again.
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
	c.record.Voters, c.record.NextVoters = c.record.NextVoters, nil
	// They are back at once; who is not is missed by what comes next.
	_ = wait.PollUntilContextTimeout(ctx, disconnectInterval, reconnectTimeout, true, func(ctx context.Context) (bool, error) {
		c.observe(ctx)
		streaming := c.streaming()
		return !slices.ContainsFunc(before, func(name string) bool { return !slices.Contains(streaming, name) }), nil
	})
	return nil
}

// grow starts the next member that is wanted and does not acknowledge yet, one at a time.
func (r *Reconciler) grow(ctx context.Context, c *cluster) *statemachine.Outcome {
	for _, name := range c.wanted() {
		if slices.Contains(c.record.Voters, name) {
			continue
		}
		if o := r.ensureMember(ctx, c, name); o != nil {
			return o
		}
		reason, message := c.notReadyReason(name)
		if reason == ReasonMemberStarting {
			reason, message = ReasonJoining, "The member "+name+" is joining: copying data or catching up."
		}
		return fails(reason, nil, "%s", message)
	}
	return nil
}

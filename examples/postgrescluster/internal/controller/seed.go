package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// seed is the step to Seeded: a member has the data of the cluster. initdb runs as long as
// no system identifier stands in the record, and never again.
type seed struct {
	// The data outlives the PostgresCluster.
	statemachine.NoUndo[*cluster]
	*Reconciler
}

// Announce implements statemachine.Announcer. A restore goes back behind commits that were
// acknowledged: what is known of members and promotions, but for the count of promotions,
// is no longer true. The first member begins the cluster anew.
func (seed) Announce(_ context.Context, c *cluster) *statemachine.Outcome {
	if o := c.recall(); o != nil {
		return o
	}
	if c.dataGone() == nil || c.object.Spec.Backup == nil || c.record.Restoring {
		return nil
	}
	c.record.Restoring, c.record.Voters, c.record.NextVoters = true, []string{memberName(c.object.Name, 0)}, nil
	c.record.Primary, c.record.Promotion, c.record.Announced, c.record.PrimaryLostTime = "", nil, nil, nil
	c.record.Adopting = false
	return nil
}

// Phase implements statemachine.Step.
func (seed) Phase() statemachine.Phase { return Seeded }

// Ensure implements statemachine.Step.
func (r seed) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	if o := r.prerequisites(ctx, c); o != nil {
		return *o
	}
	if o := r.takeOver(ctx, c); o != nil {
		return *o
	}
	first := memberName(c.object.Name, 0)
	if c.record.SystemIdentifier == "" {
		if o := r.ensureMember(ctx, c, first); o != nil {
			return *o
		}
	} else if o := c.dataGone(); o != nil && c.restoreFailed() {
		return *o
	}
	s := c.servers[first]
	switch {
	case c.record.SystemIdentifier == "" && s != nil:
		c.record.SystemIdentifier, c.record.Voters = s.SystemIdentifier, []string{first}
		return done
	case c.record.Restoring && s != nil:
		r.Events.Eventf(c.object, nil, corev1.EventTypeWarning, "Restored", "Restore",
			"No member had data. Restored the base backup of %s: later commits are lost.", s.BackupTime)
		c.record.Restoring = false
		return done
	case c.record.SystemIdentifier != "" && !c.record.Restoring && len(c.servers) > 0:
		return done
	}
	reason, message := c.notReadyReason(first)
	return *cmp.Or(c.kept, fails(reason, nil, "%s", message))
}

// restoreFailed reports whether there is nothing to restore.
func (c *cluster) restoreFailed() bool {
	if !c.record.Restoring {
		return true
	}
	pod := c.pods[c.record.Voters[0]]
	return pod != nil && pod.Spec.Containers[0].Args[0] == string(member.Restore)
}

// prerequisites returns what a person is to provide or to remove; nil if nothing. It creates the
// Secret where there is none.
func (r seed) prerequisites(ctx context.Context, c *cluster) *statemachine.Outcome {
	if version := c.object.Spec.Version; version != majorVersion && !strings.HasPrefix(version, majorVersion+".") {
		return fails(ReasonVersionUnavailable, nil, "spec.version is %s; only PostgreSQL %s is available. Create a PostgresCluster with spec.version %q.", version, majorVersion, majorVersion)
	}
	if o := c.foreign(); o != nil {
		return c.nameTaken(o)
	}
	if c.secret == nil && c.record.SystemIdentifier == "" {
		if o := r.applySecret(ctx, c, c.wantedSecret(rand.Text())); o != nil {
			return o
		}
		return fails(ReasonMemberStarting, nil, "The Secret %s was created.", secretName(c.object.Name))
	}
	return c.credentialsMissing()
}

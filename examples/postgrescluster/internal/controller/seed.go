package controller

import (
	"context"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// majorVersion is that of PostgreSQL in the image.
const majorVersion = "15"

var done = statemachine.Outcome{Kind: statemachine.Done}

// seed brings Seeded about: a member has the data of the cluster. initdb runs as long as
// no system identifier stands in the record, and never again.
type seed struct{ *Reconciler }

// Phase implements statemachine.Step.
func (seed) Phase() statemachine.Phase { return Seeded }

// Ensure implements statemachine.Step.
func (r seed) Ensure(ctx context.Context, c *cluster) statemachine.Outcome {
	if o := r.prerequisites(ctx, c); o != nil {
		return *o
	}
	first := memberName(c.object.Name, 0)
	if c.record.SystemIdentifier == "" {
		if o := r.ensureMember(ctx, c, first); o != nil {
			return *o
		}
	} else if o := c.dataGone(); o != nil {
		return *o
	}
	for name, s := range c.servers {
		if c.record.SystemIdentifier == "" {
			c.record.SystemIdentifier, c.record.Voters = s.SystemIdentifier, []string{name}
		}
		return done
	}
	reason, message := c.notReadyReason(first)
	return *fails(reason, nil, "%s", message)
}

// prerequisites are what a person is to provide, or to leave alone.
func (r seed) prerequisites(ctx context.Context, c *cluster) *statemachine.Outcome {
	if version := c.object.Spec.Version; version != majorVersion && !strings.HasPrefix(version, majorVersion+".") {
		return fails(ReasonVersionUnavailable, nil, "spec.version is %s; only PostgreSQL %s is available. Create a PostgresCluster with spec.version %q.", version, majorVersion, majorVersion)
	}
	if o := c.foreign(); o != nil {
		return fails(ReasonNameTaken, nil, "The %s %s does not belong to this PostgresCluster. Delete it, or choose another name.", kindName(o), o.GetName())
	}
	if c.secret == nil && c.record.SystemIdentifier == "" {
		return r.createSecret(ctx, c)
	}
	if c.password == "" {
		return fails(ReasonCredentialsMissing, nil, "The Secret %s or its key %s is missing. Create it with the password that the members have.", secretName(c.object.Name), passwordKey)
	}
	return nil
}

func (r seed) createSecret(ctx context.Context, c *cluster) *statemachine.Outcome {
	name := secretName(c.object.Name)
	if o := r.applyObject(ctx, owner, c.object.Namespace+"/"+name, "Secret", c.wantedSecret()); o != nil {
		return o
	}
	return fails(ReasonMemberStarting, nil, "The Secret %s was created.", name)
}

// Undo implements statemachine.Step: the data is not this operator's to take away.
func (seed) Undo(context.Context, *cluster) statemachine.Outcome { return done }

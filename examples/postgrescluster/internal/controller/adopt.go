package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A PostgresCluster without a status takes over the claims of an earlier one of its name, by the
// record on them. What it takes over is what a cluster has whose members all ended at once, so that
// the usual rules say who is promoted; but the record may be older than the data, as a backup
// of resources is. So nobody is promoted before
//
//  1. all members that the record names have answered, as standbys that replayed what they have;
//  2. none of them has seen a promotion that the record does not know;
//  3. the recorded primary waits for recorded voters.

func refused(format string, args ...any) *statemachine.Outcome {
	return fails(ReasonAdoptionRefused, nil, format, args...)
}

func claimMissing(name string) *statemachine.Outcome {
	return refused("The claims record the member %s, whose claim is missing: without it, nobody knows what was acknowledged last. Restore the claim.", name)
}

// recall takes over what the claims record. Those of the PostgresCluster's own are recalled without
// being asked for: its status was lost.
func (c *cluster) recall() *statemachine.Outcome {
	if !c.adopts() {
		return nil
	}
	var last *claimRecord
	var from, unknown, own string
	for _, name := range slices.Sorted(maps.Keys(c.claims)) {
		claim := c.claims[name]
		if !c.owns(claim) && c.object.Spec.Adopt != v1.Claims {
			continue
		}
		record, err := c.recorded(claim)
		switch {
		case err != nil:
			return refused("The annotation %s of the claim %s cannot be read: %v. Restore it.", annotationRecord, name, err)
		case record == nil && !c.owns(claim):
			unknown = name
		case record == nil && name != memberName(c.object.Name, 0): // claims are recorded before a second member joins
			own = name
		case record == nil:
		case last != nil && record.SystemIdentifier != last.SystemIdentifier:
			return refused("The claims %s and %s have the data of different clusters, whose system identifiers are %s and %s. Choose another name for one of them.", from, name, last.SystemIdentifier, record.SystemIdentifier)
		case last == nil || record.Revision > last.Revision:
			last, from = record, name
		}
	}
	switch {
	case last == nil && unknown != "":
		return refused("The claim %s does not record who was primary and who acknowledged commits (annotation %s), and cannot be taken over. Choose another name; or copy what it holds, and remove it only then.", unknown, annotationRecord)
	case last == nil && own != "":
		return refused("The status of the PostgresCluster was lost, and its claim %s does not record who was primary and who acknowledged commits (annotation %s). Restore the annotation, or the status.", own, annotationRecord)
	case last == nil:
		return nil
	}
	for _, name := range last.names() {
		if claim := c.claims[name]; claim == nil || !claim.DeletionTimestamp.IsZero() || claim.Labels[labelMember] != name {
			return claimMissing(name)
		}
	}
	s := c.record
	s.Adopting, s.Revision, s.SystemIdentifier = true, last.Revision, last.SystemIdentifier
	s.Primary, s.Promotion, s.Promotions, s.Announced = last.Primary, last.Promotion, last.Promotions, last.Announced
	s.Voters, s.NextVoters = last.Voters, last.NextVoters
	return nil
}

// takeOver makes the claims this cluster's, those of members that it may have later, too.
func (r *Reconciler) takeOver(ctx context.Context, c *cluster) *statemachine.Outcome {
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(c.claims)) {
		claim := c.claims[name]
		if c.owns(claim) || !c.adoptable(claim) {
			continue
		}
		if o := r.applyClaim(ctx, c, name); o != nil {
			return o
		}
		claim.Labels[labelOf] = string(c.object.UID)
		taken = append(taken, name)
	}
	if len(taken) > 0 {
		r.Events.Eventf(c.object, nil, corev1.EventTypeNormal, "Adopted", "Adopt",
			"Took over the claims %s of an earlier PostgresCluster, system identifier %s.", strings.Join(taken, ", "), c.record.SystemIdentifier)
	}
	return nil
}

// adopt reports why nobody is promoted yet of a cluster whose claims were taken over; nil from when
// on the usual rules hold.
func (c *cluster) adopt() *statemachine.Outcome {
	if !c.record.Adopting {
		return nil
	}
	if o := c.recall(); o != nil { // somebody may have mended the record
		return o
	}
	if c.primaryReturned() {
		c.record.Announced = nil
	}
	if o := c.recordOutdated(); o != nil {
		return o
	}
	if c.primary() != nil && c.quorumMissing() == nil { // the status was lost, and nothing else
		c.record.Adopting = false
		return nil
	}
	if o := c.unanswered(); o != nil {
		return o
	}
	if o := c.primaryBehind(); o != nil {
		return o
	}
	c.record.Adopting = false
	return nil
}

// unanswered returns the outcome while members that the claims record have not answered with all
// that they have; nil if all have. A primary that takes writes, and whose commits wait for others,
// is only one of them: a failover may have taken place that nobody recorded.
func (c *cluster) unanswered() *statemachine.Outcome {
	var silent, replaying []string
	record := recordOf(c.record)
	for _, name := range record.names() {
		switch s := c.servers[name]; {
		case s == nil:
			silent = append(silent, name)
		case name == c.record.Primary && c.primary() != nil, c.alreadyPromoted() && name == c.record.Announced.Member:
		case !s.InRecovery || !s.Waiting:
			replaying = append(replaying, name)
		}
	}
	if len(silent) == 0 && len(replaying) == 0 {
		return nil
	}
	if len(silent) == 0 {
		return fails(ReasonAdopting, nil, "The members %v have not replayed yet what they have of the log, and nobody is promoted before.", replaying)
	}
	reason, message := c.whyMissing(silent)
	return fails(cmp.Or(reason, ReasonAdopting), nil, "%s", strings.TrimSpace(fmt.Sprintf("The claims record members that do not answer yet, and nobody is promoted before: %v. %s", silent, message)))
}

// primaryBehind returns the outcome where the recorded primary is about to be promoted again and a
// voter has replayed more of the log: standbys receive only what the primary has on disk, so its
// volume is older than theirs, as with snapshots of different times.
func (c *cluster) primaryBehind() *statemachine.Outcome {
	primary, p := c.record.Primary, c.servers[c.record.Primary]
	if p == nil || !p.InRecovery || c.prepared() || c.lineage(primary) != c.record.Promotion.Number {
		return nil
	}
	for _, name := range standbysOf(c.voters(), primary) {
		s := c.servers[name]
		if s != nil && cmp.Or(cmp.Compare(s.Timeline, p.Timeline), cmp.Compare(s.History.LSN, p.History.LSN)) > 0 {
			return refused("The member %s has more of the log than the recorded primary %s (%s of timeline %d, and %s of timeline %d): the claim %s is older than that of the other one. Restore it as it was last.",
				name, primary, s.History.LSN, s.Timeline, p.History.LSN, p.Timeline, primary)
		}
	}
	return nil
}

// recordOutdated returns the outcome where members have what the record does not know, which is then
// older than the data; nil if it is not.
func (c *cluster) recordOutdated() *statemachine.Outcome {
	const mend = "Restore the annotation " + annotationRecord + " of the claims as it was last."
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		s := c.servers[name]
		number := s.promotion()
		for _, slot := range s.Slots {
			number = max(number, member.PromotionOf(slot))
		}
		switch {
		case number > c.record.Promotions:
			return refused("The member %s has seen promotion %d, and the claims record %d: the record is older than the data, and does not say who has the last commits. %s", name, number, c.record.Promotions, mend)
		case !s.InRecovery && c.primary() == nil && !c.alreadyPromoted():
			return refused("The member %s takes writes, and the claims record another primary, %q. %s", name, c.record.Primary, mend)
		}
	}
	p, primary := c.servers[c.record.Primary], c.record.Primary
	if p == nil {
		return nil
	}
	known := []string{synchronousStandbyNames(c.record.Voters, primary), synchronousStandbyNames(c.effectiveVoters(), primary)}
	if !slices.Contains(known, p.SynchronousStandbyNames) {
		return refused("The primary %s waited for the standbys %s, and the claims record %s: the record is older than the data. %s", primary, fmt.Sprintf("%q", p.SynchronousStandbyNames), strings.Join(known, " or "), mend)
	}
	return nil
}

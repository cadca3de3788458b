package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// annotationRecord has, on each claim, what of the status is needed to promote the right member: a
// claim outlives its PostgresCluster, and is restored where the status is not.
const annotationRecord = "lukeb0nd.com/record"

// A claimRecord is the value of annotationRecord, in JSON. The fields are those of the status.
type claimRecord struct {
	Revision         int64         `json:"revision"`
	SystemIdentifier string        `json:"systemIdentifier"`
	Primary          string        `json:"primary,omitempty"`
	Promotion        *v1.Promotion `json:"promotion,omitempty"`
	Promotions       int64         `json:"promotions,omitempty"`
	Announced        *v1.Announced `json:"announced,omitempty"`
	Voters           []string      `json:"voters"`
	NextVoters       []string      `json:"nextVoters,omitempty"`
}

func recordOf(s *v1.PostgresClusterStatus) claimRecord {
	return claimRecord{s.Revision, s.SystemIdentifier, s.Primary, s.Promotion, s.Promotions, s.Announced, s.Voters, s.NextVoters}
}

// nextRevision returns the revision of a status that follows another one.
func nextRevision(last, next *v1.PostgresClusterStatus) int64 {
	a, b := recordOf(last), recordOf(next)
	revision := max(a.Revision, b.Revision)
	if a.Revision, b.Revision = 0, 0; equality.Semantic.DeepEqual(a, b) {
		return revision
	}
	return revision + 1
}

// names returns the members that may have acknowledged a commit, or written one.
func (r *claimRecord) names() []string {
	names := slices.Concat(r.Voters, r.NextVoters)
	if r.Primary != "" {
		names = append(names, r.Primary)
	}
	if r.Announced != nil {
		names = append(names, r.Announced.Member)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// recorded returns the record on a claim; nil if there is none.
func (c *cluster) recorded(claim *corev1.PersistentVolumeClaim) (*claimRecord, error) {
	text, ok := claim.Annotations[annotationRecord]
	if !ok {
		return nil, nil
	}
	record := &claimRecord{}
	if err := json.Unmarshal([]byte(text), record); err != nil {
		return nil, err
	}
	if record.SystemIdentifier == "" || len(record.Voters) == 0 || (record.Primary == "") != (record.Promotion == nil) {
		return nil, fmt.Errorf("systemIdentifier, voters, primary or promotion is missing")
	}
	for _, name := range record.names() { // names become part of statements and of objects
		if !slices.ContainsFunc(allMembers(c.object.Name), func(member string) bool { return member == name }) {
			return nil, fmt.Errorf("%q is no name of a member", name)
		}
	}
	return record, nil
}

// allMembers returns the names of all members that there may be.
func allMembers(cluster string) []string {
	var names []string
	for ordinal := range maxMembers {
		names = append(names, memberName(cluster, ordinal))
	}
	return names
}

// keepRecords ensures the records in each reconcile. A claim that has changed since it was read is left
// to the next one.
func (r *Reconciler) keepRecords(ctx context.Context, c *cluster) *statemachine.Outcome {
	if o := r.ensureRecords(ctx, c); o == nil || !apply.IsStale(o.Err) {
		return o
	}
	return nil
}

// ensureRecords has all claims record what the persisted status has. While claims are being taken
// over, they know better than the status; while a backup is restored, nobody acknowledges anything.
// A claim that has changed since it was read may have a later record, of the next operator.
func (r *Reconciler) ensureRecords(ctx context.Context, c *cluster) *statemachine.Outcome {
	status := &v1.PostgresClusterStatus{}
	if err := c.pass.Status.Last(status); err != nil {
		return fails(ReasonAPIError, err, "The persisted status could not be decoded.")
	}
	if status.SystemIdentifier == "" || status.Adopting || status.Restoring || c.record.Adopting {
		return nil
	}
	data, err := json.Marshal(recordOf(status))
	if err != nil {
		return fails(ReasonAPIError, err, "The record of the members could not be encoded.")
	}
	for _, name := range slices.Sorted(maps.Keys(c.claims)) {
		claim := c.claims[name]
		if !c.owns(claim) || claim.Annotations[annotationRecord] == string(data) {
			continue
		}
		record := corev1ac.PersistentVolumeClaim(name, claim.Namespace).WithUID(claim.UID).WithResourceVersion(claim.ResourceVersion).
			WithAnnotations(map[string]string{annotationRecord: string(data)})
		switch o := r.applyObject(ctx, ownerRecord, claim.Namespace+"/"+name, "record on the claim", record); {
		case o == nil:
			claim.ResourceVersion = *record.ResourceVersion
		case !apply.IsGone(o.Err):
			return o
		}
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[annotationRecord] = string(data)
	}
	return nil
}

// recordVoters has the claims know all voters before any of them acknowledges a commit: one that
// nobody knows may have what all others lack. For anything else that the claims do not know yet, a
// failover does not wait: data of a later promotion says itself that the record is older.
func (r *Reconciler) recordVoters(ctx context.Context, c *cluster) *statemachine.Outcome {
	o := r.ensureRecords(ctx, c)
	for _, name := range c.voters() {
		claim := c.claims[name]
		if claim == nil || !c.owns(claim) {
			continue
		}
		record, err := c.recorded(claim)
		if err != nil || record == nil || slices.ContainsFunc(c.voters(), func(voter string) bool { return !slices.Contains(record.names(), voter) }) {
			return o
		}
	}
	return nil
}

// adoptable reports whether a claim that is not this cluster's is about to be taken over.
func (c *cluster) adoptable(claim *corev1.PersistentVolumeClaim) bool {
	if !c.record.Adopting || c.object.Spec.Adopt != v1.Claims || claim.Labels[labelMember] != claim.Name {
		return false
	}
	record, err := c.recorded(claim)
	recalled := recordOf(c.record)
	return err == nil && (record != nil || slices.Contains(recalled.names(), claim.Name))
}

package controller

import (
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases, in their order.
const (
	Planned     statemachine.Phase = "Planned"
	Seeded      statemachine.Phase = "Seeded"
	Promoted    statemachine.Phase = "Promoted"
	Synchronous statemachine.Phase = "Synchronous"
	Serving     statemachine.Phase = "Serving"
	Complete    statemachine.Phase = "Complete"
)

// The ways back.
const (
	loseData     = "LoseData"
	losePrimary  = "LosePrimary"
	loseQuorum   = "LoseQuorum"
	loseServices = "LoseServices"
	loseMember   = "LoseMember"
)

// plan leads a PostgresCluster to a primary whose commits its standbys acknowledge.
var plan = statemachine.MustPlan(Planned,

	[]statemachine.Stage{
		{Phase: Seeded, Transition: "Seed"}, {Phase: Promoted, Transition: "Promote"}, {Phase: Synchronous, Transition: "Synchronize"},
		{Phase: Serving, Transition: "Serve"}, {Phase: Complete, Transition: "Complete"},
	},
	statemachine.WayBack{Name: loseData, To: Planned},
	statemachine.WayBack{Name: losePrimary, To: Seeded},
	statemachine.WayBack{Name: loseQuorum, To: Promoted},
	statemachine.WayBack{Name: loseServices, To: Synchronous},
	statemachine.WayBack{Name: loseMember, To: Serving})

// The reasons why a phase does not hold. Those of a member that ended are the member's own.
const (
	// ReasonVersionUnavailable: this operator has no PostgreSQL of the version.
	ReasonVersionUnavailable = "VersionUnavailable"
	// ReasonNameTaken: an object of a name that is needed belongs to somebody else.
	ReasonNameTaken = "NameTaken"
	// ReasonCredentialsMissing: the Secret with the password is gone, or has none.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonObjectRefused: the API server refuses an object.
	ReasonObjectRefused = "ObjectRefused"
	// ReasonAPIError: the API server failed.
	ReasonAPIError = "APIError"
	// ReasonSQLError: a member refused a statement.
	ReasonSQLError = "SQLError"
	// ReasonVolumePending: a claim has no volume.
	ReasonVolumePending = "VolumePending"
	// ReasonMemberWaiting: a member's pod does not start; the message has the kubelet's or
	// the scheduler's words.
	ReasonMemberWaiting = "MemberWaiting"
	// ReasonMemberEnded: a member's pod ended.
	ReasonMemberEnded = "MemberEnded"
	// ReasonMemberStarting: a member starts.
	ReasonMemberStarting = "MemberStarting"
	// ReasonAdopting: not all members that the claims record have answered.
	ReasonAdopting = "Adopting"
	// ReasonAdoptionRefused: what the claims record cannot be taken over, or not with this data.
	ReasonAdoptionRefused = "AdoptionRefused"
	// ReasonDataGone: no member has data.
	ReasonDataGone = "DataGone"
	// ReasonPrimaryLost: the primary does not answer, or answers as a standby.
	ReasonPrimaryLost = "PrimaryLost"
	// ReasonConnectionsExhausted: the primary runs, and has no connection left for the operator.
	ReasonConnectionsExhausted = "ConnectionsExhausted"
	// ReasonFailingOver: standbys are disconnecting from the lost primary.
	ReasonFailingOver = "FailingOver"
	// ReasonPromoting: a member reloads the settings of a primary.
	ReasonPromoting = "Promoting"
	// ReasonQuorumMissing: too few members answer.
	ReasonQuorumMissing = "QuorumMissing"
	// ReasonJoining: a member copies the data, or catches up.
	ReasonJoining = "Joining"
	// ReasonDiverged: a member's data is not the primary's, up to where it has it.
	ReasonDiverged = "Diverged"
	// ReasonResizing: the members that acknowledge commits change.
	ReasonResizing = "Resizing"
	// ReasonUpdating: members are replaced, since the spec of their pods changed.
	ReasonUpdating = "Updating"
	// ReasonClaimsChanged: a claim is not as it is wanted.
	ReasonClaimsChanged = "ClaimsChanged"
	// ReasonBackupsChanged: the CronJob of the base backups is not as it is wanted.
	ReasonBackupsChanged = "BackupsChanged"
	// ReasonServicesChanged: a Service, or a label that it selects by, is not as it is wanted.
	ReasonServicesChanged = "ServicesChanged"
)

// kindOf returns what ends each reason. What PostgreSQL does no event announces: it is looked
// at every now and then.
func kindOf(reason string) statemachine.Kind {
	switch reason {
	case ReasonVersionUnavailable, ReasonNameTaken, ReasonAdoptionRefused, ReasonDataGone, member.DataForeign, member.Misconfigured:
		return statemachine.Refused
	case ReasonVolumePending, ReasonMemberWaiting:
		return statemachine.Awaiting
	case ReasonObjectRefused, // no event announces that a policy or a quota changed
		ReasonAPIError, ReasonSQLError, ReasonCredentialsMissing, ReasonMemberEnded, member.DiskFull, member.DataInUse, member.JoinFailed, member.RestoreFailed, member.SeedFailed, member.PostgresEnded:
		return statemachine.Failed
	default:
		return statemachine.Pending
	}
}

// vocabulary has the plan, and what it says. A cluster is Ready when it serves.
var vocabulary = statemachine.Vocabulary{
	Plan: plan, KindOf: kindOf, ReadyAt: Serving,
	Held: map[statemachine.Phase]statemachine.Held{
		Seeded:      {Reason: "DataPresent", Message: "A member has the data of the cluster."},
		Promoted:    {Reason: "PrimaryPromoted", Message: "One member is the primary."},
		Synchronous: {Reason: "CommitsAcknowledged", Message: "Enough standbys acknowledge commits."},
		Serving:     {Reason: "ServicesLead", Message: "The Services route to the primary and the standbys."},
		Complete:    {Reason: "AllMembersReplicate", Message: "All members are replicating."},
	},
}

// fails returns the outcome of a reason of the plan.
func fails(reason string, err error, format string, args ...any) *statemachine.Outcome {
	return vocabulary.Outcome(reason, fmt.Sprintf(format, args...), err)
}

var done = statemachine.Outcome{Kind: statemachine.Done}

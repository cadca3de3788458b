package controller

import "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"

// whyMissing returns why too few of these members answer: the reason and the message of the one that
// a person can help, since the others wait for nothing but time; of several, of the one whose reason
// is surest to last, and of these the first. The reason is empty if there is no such member.
func (c *cluster) whyMissing(names []string) (reason, message string) {
	surest := 0
	for _, name := range names {
		why, sentence := c.notReadyReason(name)
		if c.pods[name] == nil && c.kept != nil && c.kept.Reason == ReasonObjectRefused {
			why, sentence = c.kept.Reason, c.kept.Message
		}
		if lasts := lasting(why); lasts > surest {
			surest, reason, message = lasts, why, sentence
		}
	}
	return reason, message
}

// lasting returns how sure it is that a member does not come back until a person helps it; 0 if it is
// likely to come back.
func lasting(reason string) int {
	switch reason {
	case ReasonNameTaken, ReasonObjectRefused, member.DiskFull, member.DataForeign, member.Misconfigured, member.NoData:
		return 3
	case ReasonSQLError, ReasonVolumePending, ReasonMemberWaiting:
		return 2
	case member.SeedFailed, member.JoinFailed, member.RestoreFailed, member.PostgresEnded:
		return 1
	}
	return 0
}

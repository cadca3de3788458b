package helperapi

import (
	"net/url"
	"strings"
)

// Judgement is what an agent says of a configuration that it tried, and did not serve.
type Judgement struct {
	// Token is that of the desired file that asked for it.
	Token string `json:"-"`
	// Reason and Message state why the configuration is not accepted, or not known to be;
	// empty if it is accepted.
	Reason  JudgementReason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// Millis, CPUMillis and Bytes are what the one collection of the trial took, whose code
	// was cold; nil if the agent does not know.
	Millis    *int64 `json:"millis,omitempty"`
	CPUMillis *int64 `json:"cpuMillis,omitempty"`
	Bytes     *int64 `json:"bytes,omitempty"`
	// Series is what the rules made of MBeans, of which the collection read so many; nil
	// if the collection did not end.
	Series *int64 `json:"series,omitempty"`
	MBeans *int64 `json:"mbeans,omitempty"`
	// Skipped is what the collection left out; nil if it was complete.
	Skipped *Skipped `json:"skipped,omitempty"`
}

// JudgementReason is why an agent does not accept a configuration: some of the values of
// Reason, and JudgementTrialIncomplete.
type JudgementReason string

// JudgementTrialIncomplete surfaces when the agent could not collect by the configuration,
// or not in the time of a trial: what that would cost is unknown.
const JudgementTrialIncomplete JudgementReason = "TrialIncomplete"

// candidatePrefix begins the keys of a judgement in the mark.
const candidatePrefix = "candidate."

func judgementIn(pairs url.Values) *Judgement {
	said := url.Values{}
	for key, values := range pairs {
		if rest, ok := strings.CutPrefix(key, candidatePrefix); ok {
			said[rest] = values
		}
	}
	if !said.Has("token") {
		return nil
	}
	return &Judgement{
		Token:     Bounded(said.Get("token")),
		Reason:    judgementReason(said.Get("reason")),
		Message:   Bounded(said.Get("message")),
		Millis:    Count(said, "collection.millis"),
		CPUMillis: Count(said, "collection.cpu.millis"),
		Bytes:     Count(said, "collection.bytes"),
		Series:    Count(said, "collection.series"),
		MBeans:    Count(said, "collection.mbeans"),
		Skipped:   skippedIn(said),
	}
}

// judgementReason returns a reason of a judgement; others become AgentFailed, as in a mark.
func judgementReason(reason string) JudgementReason {
	if r := JudgementReason(reason); r == "" || r == JudgementTrialIncomplete {
		return r
	}
	return JudgementReason(agentReason(reason))
}
